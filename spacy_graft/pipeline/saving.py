"""Saving and loading of components: one sealed file, checked as a whole before anything changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import replaced_folder, write_whole
from ..graft.constraints import Constraints
from ..graft.report import Report
from ..messages import count, listed, warn
from ..model.sealing import seal, unseal
from ..model.snapshot import REPORT
from ..model.sparse_linear import SNAPSHOT, SparseLinear, snapshot_of
from ..model.table import damaged_model, pack_message, unpack_message
from .corpus import ExtractedCorpus
from .targets import TargetReader
from .undoing import unchanged_after_error
from .vectors import vectors_of_training

if TYPE_CHECKING:
    from ..model.snapshot import Snapshot
    from ..model.sparse_linear import SparseLinearModel
    from .textcat import TextCatGraft

#: Files of a component: the sealed model, and the digests that it may have.
MODEL_FILE, SEAL_FILE = "model", "seal"
#: Parts of a sealed model: which component it fits, its labels and thresholds, and the thinc model; the training corpus
#: if it is kept. ``vocab`` is there only in bytes that do not exclude it.
COMPONENT, CFG, MODEL, CORPUS, VOCAB = "component", "cfg", "model", "corpus", "vocab"
REMEDY = "Copy the whole pipeline again, or train it again."
CONFIG_REMEDY = "Use the config that it was trained with."
#: The note of a model that is the history of its training.
HISTORY = "history"


@dataclass(frozen=True)
class Loaded:
    """What was read and checked, and is not yet set; None for what was excluded or not saved."""

    cfg: dict[str, Any] | None
    model: SparseLinearModel | None
    corpus: ExtractedCorpus | None


def to_bytes(component: TextCatGraft, exclude: Iterable[str]) -> bytes:
    """Write a component as bytes."""
    excluded = set(exclude)
    parts = parts_of(component, excluded)
    if VOCAB not in excluded:
        parts[VOCAB] = component.vocab.to_bytes(exclude=list(excluded))
    return seal(parts)


def from_bytes(component: TextCatGraft, data: bytes, exclude: Iterable[str]) -> None:
    """Load what :func:`to_bytes` wrote.

    Raises
    ------
    ValueError
        If the bytes are damaged or of another component. The component stays what it was.
    """
    excluded = set(exclude)
    with naming(f"The bytes of component {component.name!r} cannot be loaded"):
        parts, _ = unseal(data)
        loaded = read_parts(component, parts, excluded)
    if VOCAB in parts and VOCAB not in excluded:
        component.vocab.from_bytes(parts[VOCAB], exclude=list(excluded))
    with naming(f"The bytes of component {component.name!r} cannot be loaded"):
        set_loaded(component, loaded)


def to_disk(component: TextCatGraft, folder: Path, exclude: Iterable[str]) -> None:
    """Write a component into a folder.

    Until all has been written, the folder has the model that it had before.
    """
    excluded = set(exclude)
    data = seal(parts_of(component, excluded))
    folder.mkdir(exist_ok=True)
    if VOCAB not in excluded:
        with replaced_folder(folder / VOCAB) as new:
            component.vocab.to_disk(new, exclude=list(excluded))
    write_sealed(folder, data)


def from_disk(component: TextCatGraft, folder: Path, exclude: Iterable[str]) -> None:
    """Load what :func:`to_disk` wrote.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged, or of another component or training. The component stays what it was.
    """
    excluded = set(exclude)
    parts = read_sealed(folder)
    with naming(folder / MODEL_FILE):
        loaded = read_parts(component, parts, excluded)
    if VOCAB not in excluded:
        component.vocab.from_disk(folder / VOCAB, exclude=list(excluded))
    with naming(folder / MODEL_FILE):
        set_loaded(component, loaded)


def write_sealed(folder: Path, data: bytes) -> None:
    """Replace the model in a folder, in steps of which each leaves the old model or the new one.

    While the file of the model is replaced, the seal has the digests of both.
    """
    digest, before = unseal(data)[1], known_digests(folder)
    write_digests(folder, [digest, *before])
    write_whole(folder / MODEL_FILE, data)
    if before:
        write_digests(folder, [digest])


def write_digests(folder: Path, digests: list[str]) -> None:
    """Write the digests that the model in a folder may have."""
    write_whole(folder / SEAL_FILE, json.dumps({"digests": digests}).encode() + b"\n")


def known_digests(folder: Path) -> list[str]:
    """The digests that the model in a folder may have; none if there is no model that could be loaded."""
    try:
        return read_digests(folder / SEAL_FILE)
    except (OSError, ValueError):
        return []


def read_sealed(folder: Path) -> dict[str, bytes]:
    """Read the parts of a model, and check that the files of the folder belong together."""
    path, seal_path = folder / MODEL_FILE, folder / SEAL_FILE
    digests = read_digests(seal_path)
    with naming(path):
        parts, digest = unseal(read_component_file(path))
    if digest not in digests:
        raise ValueError(
            f"{path} is not the model that was saved with {seal_path}: the files are of different trainings or "
            f"components. {REMEDY}"
        )
    return parts


def read_digests(path: Path) -> list[str]:
    """Read the digests of a seal."""
    try:
        message = json.loads(read_component_file(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}. {REMEDY}") from error
    digests = message.get("digests") if isinstance(message, dict) and len(message) == 1 else None
    if not isinstance(digests, list) or not all(isinstance(digest, str) for digest in digests):
        raise ValueError(f"{path} is damaged: it does not have the digest of a model. {REMEDY}")
    return digests


def read_component_file(path: Path) -> bytes:
    """Read a file of a component; the error says what to do if there is none."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder, but must be a file. {REMEDY}")
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(f"{path} is missing: without it, the component cannot be loaded. {REMEDY}") from error


@contextmanager
def naming(source: object) -> Iterator[None]:
    """Add to the message of a ValueError where it comes from."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error


def parts_of(component: TextCatGraft, excluded: set[str]) -> dict[str, bytes]:
    """The parts of a component, all of one state of it.

    Raises
    ------
    ValueError
        If labels, thresholds or the vectors of the pipeline are such that they could not be loaded.
    """
    cfg = dict(component.cfg)
    check_cfg(component, cfg)
    parts = {COMPONENT: to_json(identity(component))}
    if CFG not in excluded:
        parts[CFG] = to_json(cfg)
    if MODEL not in excluded:
        warn_of_pending(component)
        check_vectors(component)
        parts[MODEL] = component.model.to_bytes()
        # Before the first step, what has been read of the documents belongs to no model, and is read again.
        if component.keep_corpus and component.corpus is not None and REPORT in notes_of(component.model):
            parts[CORPUS] = pack_message(component.corpus.to_dict(component.vocab.strings))
    return parts


def warn_of_pending(component: TextCatGraft) -> None:
    """Warn of documents of ``update`` that the model which is saved was not trained on.

    Not in ``spacy train``, which saves while it trains; where documents may be left over, it was said at its beginning.
    """
    training = component.training
    if training is not None and training.n_pending and not training.in_loop:
        warn(
            f"[{component.name}] {count(training.n_pending, 'document')} of update came after the last start of "
            f"training and had no part in the model that is saved. Training starts again when as many have come as it "
            f"began with, or when an update brings none that is new: at the end of a loop, call nlp.update once more "
            f"with documents that it has had."
        )


def read_parts(component: TextCatGraft, parts: Mapping[str, bytes], excluded: set[str]) -> Loaded:
    """Read and check the parts for a component, which is not changed."""
    check_identity(component, from_json(parts.get(COMPONENT, b"null")))
    cfg = None if CFG in excluded or CFG not in parts else from_json(parts[CFG])
    if cfg is not None:
        check_cfg(component, cfg)
    model = corpus = None
    if MODEL not in excluded and MODEL in parts:
        labels = (component.cfg if cfg is None else cfg)["labels"]
        model = SparseLinear(component.blocks).from_bytes(parts[MODEL])
        check_columns(component, model.snapshot, labels)
        if (report := saved_report(model)) is not None:
            report.check_thresholds(len(labels), least=0)
        if component.keep_corpus and CORPUS in parts:
            component.require_lasting_words()
            corpus = read_corpus(component, unpack_message(parts[CORPUS]), labels)
    elif cfg is not None and component.is_initialized:
        check_columns(component, snapshot_of(component.model), cfg["labels"])  # the weights stay
    return Loaded(cfg, model, corpus)


def read_corpus(component: TextCatGraft, saved: Any, labels: Sequence[str]) -> ExtractedCorpus:
    """The kept corpus of a component from its message."""
    reader = TargetReader(component.name, tuple(labels), component.exclusive)
    try:
        return ExtractedCorpus.from_dict(saved, component.blocks, reader, component.vocab.strings)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise damaged_model(f"its corpus is not one of this component ({error!r})") from error


def set_loaded(component: TextCatGraft, loaded: Loaded) -> None:
    """Set what was loaded, and end a training; warn if the model has never been trained.

    Raises
    ------
    ValueError
        If the model needs vectors that the pipeline does not have. The component stays what it was.
    """
    if loaded.model is not None:
        bind_vectors(component, loaded.model)
    with unchanged_after_error(component):
        if loaded.cfg is not None:
            component.cfg.pop("constraints", None)  # those of another model
            component.cfg.update(loaded.cfg)
        if loaded.model is not None:
            new = dict(loaded.model.attrs)
            del new["blocks"]
            component.model.attrs.update(new)
            component.kept_corpus = loaded.corpus
        component.training = None
        component.report = saved_report(component.model)
    snapshot = component.model.snapshot
    if snapshot is not None and not snapshot.features.n_features and not component.is_trained:
        warn(
            f"[{component.name}] This model was saved before its first training step: it has no features, and predicts "
            f"the same for all documents. Train it with spacy train or spacy_graft.fit."
        )


def bind_vectors(component: TextCatGraft, model: SparseLinearModel) -> None:
    """Let a model find the vectors of its pipeline, if it keeps none."""
    snapshot = model.snapshot
    if snapshot is not None and snapshot.word_scores is not None and snapshot.word_scores.digest:
        word_scores = snapshot.word_scores
        vectors = vectors_of_training(word_scores, component.blocks, component.vocab)
        model.attrs[SNAPSHOT] = replace(snapshot, word_scores=word_scores.with_vectors(*vectors))


def check_vectors(component: TextCatGraft) -> None:
    """Raise a ValueError if the pipeline does not have the vectors any more that the model needs."""
    snapshot = component.model.snapshot
    if snapshot is None or snapshot.word_scores is None or not snapshot.word_scores.digest:
        return
    try:
        vectors_of_training(snapshot.word_scores, component.blocks, component.vocab)
    except ValueError as error:
        raise ValueError(f"[{component.name}] The model is not saved, since it could not be loaded: {error}") from error


def notes_of(model: SparseLinearModel) -> Mapping[str, Any]:
    """The notes of a model; none if it has no weights."""
    snapshot = model.snapshot
    return {} if snapshot is None else snapshot.notes


def to_json(value: Any) -> bytes:
    """JSON, in ASCII."""
    return json.dumps(value).encode()


def from_json(content: bytes) -> Any:
    """Parse a part in JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damaged_model(f"a part is not JSON ({error})") from error


def identity(component: TextCatGraft) -> dict[str, Any]:
    """What the config says of a component, and its model depends on."""
    blocks = [[name, type(block).__name__, settings(block)] for name, block in component.blocks.items()]
    return {"exclusive": component.exclusive, "blocks": blocks}


def settings(block: Any) -> dict[str, Any]:
    """The settings of a block that is a dataclass, in plain values."""
    return {field.name: plain(getattr(block, field.name)) for field in fields(block)} if is_dataclass(block) else {}


def plain(value: Any) -> Any:
    """A setting in the values of JSON; its type, if it is something else."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(member) for key, member in value.items()}
    return [plain(member) for member in value] if isinstance(value, list | tuple) else type(value).__name__


def check_identity(component: TextCatGraft, saved: Any) -> None:
    """Raise a ValueError unless a model was saved by a component of this kind, with the same blocks."""
    own = identity(component)
    if saved == own:
        return
    if not isinstance(saved, dict) or set(saved) != set(own) or not is_blocks(saved["blocks"]):
        raise damaged_model("it does not say which component it is of")
    if saved["exclusive"] != own["exclusive"]:
        kinds = {True: "exclusive labels (textcat_graft)", False: "independent labels (textcat_graft_multilabel)"}
        raise ValueError(
            f"[{component.name}] The model is of a component with {kinds[bool(saved['exclusive'])]}, but this one has "
            f"{kinds[component.exclusive]}. {CONFIG_REMEDY}"
        )
    was, now = next(pair for pair in zip_longest(saved["blocks"], own["blocks"]) if pair[0] != pair[1])
    raise ValueError(
        f"[{component.name}] The model was trained with {block_description(was)}, but the config has "
        f"{block_description(now)}. {CONFIG_REMEDY}"
    )


def is_blocks(value: Any) -> bool:
    """Whether these are names, types and settings of blocks."""
    return isinstance(value, list) and all(isinstance(block, list) and len(block) == 3 for block in value)


def block_description(block: list[Any] | None) -> str:
    """Name, type and settings of a block, for messages."""
    return "no further block" if block is None else f"block {block[0]!r}, {block[1]} {block[2]}"


def check_cfg(component: TextCatGraft, cfg: Any) -> None:
    """Raise a ValueError unless labels and thresholds are such that a component can use them."""
    needed = {"labels", "threshold"} if component.exclusive else {"labels", "threshold", "thresholds"}
    if not isinstance(cfg, dict) or not needed.issubset(cfg):
        raise ValueError(f"[{component.name}] The settings are {cfg!r:.100}, but must have {listed(sorted(needed))}.")
    check_labels(component.name, cfg["labels"])
    check_common_threshold(component.name, cfg["threshold"])
    if (positive := cfg.get("positive_label")) is not None and positive not in cfg["labels"]:
        raise ValueError(
            f"[{component.name}] The positive label is {positive!r}, but must be a string, one of the labels: "
            f"{listed(cfg['labels'])}."
        )
    if not component.exclusive:
        check_thresholds(component.name, cfg["thresholds"], cfg["labels"])
    if cfg.get("constraints") is not None:
        check_constraints(component.name, cfg["constraints"])


def check_common_threshold(name: str, threshold: Any) -> None:
    """Raise a ValueError unless this is a number from 0 to 1, or None."""
    if threshold is not None and not is_probability(threshold):
        raise ValueError(f"[{name}] The threshold is {threshold!r}, but it must be a number from 0 to 1, or null.")


def check_constraints(name: str, saved: Any) -> None:
    """Raise a ValueError unless these are constraints."""
    try:
        Constraints(**saved)
    except (TypeError, ValueError) as error:
        raise ValueError(f"[{name}] The constraints of edits are not valid: {error}") from error


def check_labels(name: str, labels: Any) -> None:
    """Raise a ValueError unless labels are different strings that are not empty."""
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) and label for label in labels):
        raise ValueError(f"[{name}] The labels are {labels!r:.100}, but must be strings that are not empty.")
    if len(set(labels)) < len(labels):
        raise ValueError(f"[{name}] A label is there twice: {listed(labels)}.")


def check_thresholds(name: str, thresholds: Any, labels: Sequence[str]) -> None:
    """Raise a ValueError if these are not valid thresholds of these labels."""
    if not isinstance(thresholds, dict):
        raise ValueError(f"[{name}] The thresholds of labels are {thresholds!r}, but must be numbers by label.")
    known = set(labels)
    for label, threshold in thresholds.items():
        if label not in known:
            raise ValueError(
                f"[{name}] There is a threshold for {label!r}, which is not a label. The labels: {listed(labels)}."
            )
        if not is_probability(threshold):
            raise ValueError(
                f"[{name}] The threshold of {label!r} is {threshold!r}, but it must be an int or a float from 0 to 1."
            )


def is_probability(value: Any) -> bool:
    """Whether this is a number from 0 to 1."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def check_columns(component: TextCatGraft, snapshot: Snapshot | None, labels: Sequence[str]) -> None:
    """Raise a ValueError if a model has weights, but not for as many labels."""
    if snapshot is not None and snapshot.n_labels != len(labels):
        raise ValueError(
            f"[{component.name}] The model has weights for {snapshot.n_labels} labels, but the component has "
            f"{len(labels)} labels: {listed(labels)}. The files are from different models."
        )


def saved_report(model: SparseLinearModel) -> Report | None:
    """The report among the notes of a model, if there is one; a ValueError if it is damaged."""
    snapshot = model.snapshot
    return None if snapshot is None or snapshot.report is None else Report.of_saved(snapshot.report)
