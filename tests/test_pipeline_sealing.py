"""Saved components: what is damaged or mixed up is refused, and a save that fails leaves the model before."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc

import spacy_graft
from conftest import component_of, forged, make_examples, make_nlp, make_records
from spacy_graft.model.sealing import seal, unseal
from spacy_graft.model.table import pack_message, unpack_message
from spacy_graft.pipeline.saving import write_sealed
from spacy_graft.pipeline.textcat import TextCatGraft, TextCatGraftMultilabel

TEXTS = ["the soup of the day and a violin", "extra time with salt", "", "nothing known"]
#: Blocks of all kinds: n-grams, items with a vocabulary, combinations.
FEATURES = {
    "words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": 3, "max_length": 3},
    "bag": {"@graft_features": "spacy_graft.TokenAttributes.v1", "value": "tf_idf", "min_df": 3},
    "pairs": {"@graft_features": "spacy_graft.Combinations.v1", "of": ["bag"], "min_df": 3},
}
LEARNER = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 0.5, "length_normalisation": True}
MULTILABEL = "textcat_graft_multilabel"


def new_nlp(factory: str = "textcat_graft", **config: Any) -> Language:
    return make_nlp(factory, **{"features": FEATURES, "learner": LEARNER, **config})


def trained(factory: str, seed: int, **config: Any) -> TextCatGraft:
    nlp = new_nlp(factory, **config)
    examples = make_examples(nlp, make_records(60, seed))
    spacy_graft.fit(nlp, examples, dev=examples[:9])
    return component_of(nlp)


@pytest.fixture(scope="module")
def component() -> TextCatGraft:
    return trained("textcat_graft", 0)


@pytest.fixture(scope="module")
def other() -> TextCatGraft:
    """The same settings and labels, trained on other documents."""
    return trained("textcat_graft", 1)


@pytest.fixture(scope="module")
def several() -> TextCatGraft:
    found = trained(MULTILABEL, 0)
    assert isinstance(found, TextCatGraftMultilabel)
    found.cfg["thresholds"] = {"food": 0.25}
    return found


@pytest.fixture(scope="module")
def with_corpus() -> bytes:
    return trained("textcat_graft", 0, keep_corpus=True).to_bytes()


@pytest.fixture(scope="module")
def docs(blank: Language) -> list[Doc]:
    return [blank.make_doc(text) for text in TEXTS]


def state(component: TextCatGraft, docs: list[Doc]) -> Any:
    """All that loading could change."""
    predictions = component.predict(docs).tobytes() if component.is_initialized else None
    return predictions, component.labels, dict(component.cfg), component.model.to_bytes(), component.report


def same_or_refused(target: TextCatGraft, load: Callable[[], Any], expected: Any, docs: list[Doc], named: str) -> bool:
    """Whether what is loaded is refused; if it is, the component has not changed, else it predicts the same."""
    before, message = state(target, docs), ""
    try:
        load()
    except (ValueError, FileNotFoundError) as error:
        message = str(error)
    if message:
        assert named in message
        assert state(target, docs) == before
    else:
        assert state(target, docs)[:3] == expected[:3]
    return bool(message)


def mutations(data: bytes, rng: random.Random) -> Iterator[bytes]:
    """Damaged copies of a file: a bit in every third byte, cuts, gaps, insertions, impossible sizes."""
    for place in range(0, len(data), 3):
        changed = bytearray(data)
        changed[place] ^= 1 << rng.randrange(8)
        yield bytes(changed)
    for _ in range(40):
        first, last = sorted(rng.sample(range(len(data) + 1), 2))
        yield data[:first]
        yield data[:first] + data[last:]
        yield data[:first] + rng.randbytes(4) + data[first:]
        yield data[:first] + b"\xdd\xff\xff\xff\xff" + data[first + 1 :]
        yield data[:first] + b"\x91" * 3000 + data[first:]


def test_damaged_bytes_are_refused(component: TextCatGraft, other: TextCatGraft, docs: list[Doc]) -> None:
    data, rng = component.to_bytes(exclude=["vocab"]), random.Random(0)
    target = component_of(new_nlp()).from_bytes(other.to_bytes(exclude=["vocab"]))
    for changed in mutations(data, rng):
        with pytest.raises(ValueError, match="The bytes of component 'textcat_graft' cannot be loaded: "):
            target.from_bytes(changed, exclude=["vocab"])
    expected = state(other, docs)
    assert state(target, docs)[:4] == expected[:4]


@pytest.mark.parametrize("name", ["model", "seal"])
def test_damaged_files_are_refused(
    component: TextCatGraft, other: TextCatGraft, docs: list[Doc], tmp_path: Path, name: str
) -> None:
    component.to_disk(tmp_path, exclude=["vocab"])
    expected, data, rng = state(component, docs), (tmp_path / name).read_bytes(), random.Random(1)
    target = component_of(new_nlp()).from_bytes(other.to_bytes())
    others = [b"", b"null", b"[]", b'{"digests": [1]}', b"[" * 100_000, *(data[:length] for length in range(9))]
    tried = [*mutations(data, rng), *others]
    refused = 0
    for changed in rng.sample(tried, 150):
        (tmp_path / name).write_bytes(changed)
        load = lambda: target.from_disk(tmp_path, exclude=["vocab"])  # noqa: E731
        refused += same_or_refused(target, load, expected, docs, str(tmp_path))
    assert refused > 130


def without_model(folder: Path, elsewhere: Path) -> None:
    (folder / "model").unlink()


def without_seal(folder: Path, elsewhere: Path) -> None:
    (folder / "seal").unlink()


def without_folder(folder: Path, elsewhere: Path) -> None:
    shutil.rmtree(folder)


def folder_for_model(folder: Path, elsewhere: Path) -> None:
    without_model(folder, elsewhere)
    (folder / "model").mkdir()


def file_for_folder(folder: Path, elsewhere: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"")


def other_model(folder: Path, elsewhere: Path) -> None:
    shutil.copy(elsewhere / "model", folder / "model")


def other_seal(folder: Path, elsewhere: Path) -> None:
    shutil.copy(elsewhere / "seal", folder / "seal")


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        (without_model, FileNotFoundError, "saved/model is missing"),
        (without_seal, FileNotFoundError, "saved/seal is missing"),
        (without_folder, FileNotFoundError, "saved/seal is missing"),
        (file_for_folder, FileNotFoundError, "saved/seal is missing"),
        (folder_for_model, ValueError, "saved/model is a folder, but must be a file"),
        (other_model, ValueError, "saved/model is not the model that was saved with .*of different trainings"),
        (other_seal, ValueError, "saved/model is not the model that was saved with .*of different trainings"),
    ],
)
def test_files_that_do_not_belong_together(
    component: TextCatGraft,
    other: TextCatGraft,
    docs: list[Doc],
    tmp_path: Path,
    change: Callable[[Path, Path], None],
    error: type[Exception],
    named: str,
) -> None:
    component.to_disk(tmp_path / "saved", exclude=["vocab"])
    other.to_disk(tmp_path / "other", exclude=["vocab"])
    change(tmp_path / "saved", tmp_path / "other")
    target = component_of(new_nlp())
    before = state(target, docs)
    with pytest.raises(error, match=named):
        target.from_disk(tmp_path / "saved", exclude=["vocab"])
    assert state(target, docs) == before


def block_with(**options: Any) -> dict[str, Any]:
    return {"features": {**FEATURES, "words": {**FEATURES["words"], **options}}}


@pytest.mark.parametrize(
    ("factory", "config", "message"),
    [
        (MULTILABEL, {}, r"with exclusive labels \(textcat_graft\), but this one has independent labels"),
        (
            "textcat_graft",
            block_with(attr="NORM"),
            "'attr': 'LOWER'.* but the config has block 'words'.*'attr': 'NORM'",
        ),
        ("textcat_graft", block_with(max_length=None), "'max_length': 3.* but the config has .*'max_length': None"),
        ("textcat_graft", block_with(min_df=4), "'min_df': 3.* but the config has .*'min_df': 4"),
        ("textcat_graft", {"features": {name: FEATURES[name] for name in ("words", "bag")}}, "no further block"),
        ("textcat_graft", {"features": dict(sorted(FEATURES.items()))}, "block 'words', .* the config has block 'bag'"),
    ],
)
def test_models_of_another_config_are_refused(
    component: TextCatGraft, factory: str, config: dict[str, Any], message: str
) -> None:
    target = component_of(new_nlp(factory, **config))
    with pytest.raises(ValueError, match=message + ".* Use the config that it was trained with"):
        target.from_bytes(component.to_bytes())
    assert not target.is_initialized


def test_a_changed_config_of_a_pipeline_is_refused(component: TextCatGraft, tmp_path: Path) -> None:
    nlp = new_nlp()
    component_of(nlp).from_bytes(component.to_bytes())
    nlp.to_disk(tmp_path)
    config = (tmp_path / "config.cfg").read_text()
    assert config.count('value = "tf_idf"') == 1
    (tmp_path / "config.cfg").write_text(config.replace('value = "tf_idf"', 'value = "binary"'))
    with pytest.raises(ValueError, match=r"textcat_graft/model: .*'tf_idf'.* but the config has .*'binary'"):
        spacy.load(tmp_path)


def changed_cfg(component: TextCatGraft, **changes: Any) -> bytes:
    return forged(component.to_bytes(), cfg={**component.cfg, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": ["food", "food", "sport"]}, "A label is there twice: 'food', 'food', 'sport'"),
        ({"labels": ["food", "", "sport"]}, "must be strings that are not empty"),
        ({"labels": ["food", None, "sport"]}, "must be strings that are not empty"),
        ({"labels": [1, 2, 3]}, "must be strings that are not empty"),
        ({"labels": [["food"], "music", "sport"]}, "must be strings that are not empty"),
        ({"labels": "abc"}, "must be strings that are not empty"),
        ({"labels": 3}, "must be strings that are not empty"),
        ({"labels": ["food"]}, "weights for 3 labels, but the component has 1 labels"),
        ({"positive_label": 5}, "The positive label is 5, but must be a string"),
        (
            {"positive_label": "drums"},
            "The positive label is 'drums', but must be a string, one of the labels: 'food', ",
        ),
        ({"threshold": True}, "The threshold is True, but it must be a number from 0 to 1"),
        ({"threshold": "0.5"}, "The threshold is '0.5'"),
        ({"threshold": 1.5}, "The threshold is 1.5"),
        ({"threshold": float("nan")}, "The threshold is nan"),
    ],
)
def test_impossible_labels_and_thresholds_are_refused(
    component: TextCatGraft, changes: dict[str, Any], message: str
) -> None:
    """Even if somebody has made a digest for them."""
    with pytest.raises(ValueError, match=message):
        component_of(new_nlp()).from_bytes(changed_cfg(component, **changes))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"component": None}, "does not say which component it is of"),
        ({"component": {"exclusive": True, "blocks": 3}}, "does not say which component it is of"),
        ({"component": b"{"}, "a part is not JSON"),
        ({"cfg": b"\xff"}, "a part is not JSON"),
        ({"cfg": [1]}, r"The settings are \[1\], but must have 'labels', 'threshold'"),
        ({"cfg": {"labels": []}}, "but must have 'labels', 'threshold'"),
        ({"model": b"\x90"}, "does not have 'nodes'"),
    ],
)
def test_impossible_parts_are_refused(component: TextCatGraft, parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        component_of(new_nlp()).from_bytes(forged(component.to_bytes(), **parts))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": "many"}, "has 'many' as 'rounds'"),
        ({"converged": 1}, "has 1 as 'converged'"),
        ({"l1": True}, "has True as 'l1'"),
        ({"left_out": ["a", 3]}, r"has \['a', 3\] as 'left_out'"),
        ({"min_df": {"characters": 0.5}}, "as 'min_df'"),
        ({"network": [1]}, r"has \[1\] as 'network'"),
        ({"constraints": {"denies": []}}, "constraints that are not valid"),
    ],
)
def test_impossible_reports_are_refused(component: TextCatGraft, changes: dict[str, Any], message: str) -> None:
    parts, _ = unseal(component.to_bytes())
    model = srsly.msgpack_loads(parts["model"])
    notes = srsly.msgpack_loads(model["attrs"][0]["notes"])
    model["attrs"][0]["notes"] = pack_message({**notes, "report": {**notes["report"], **changes}})
    target = component_of(new_nlp())
    with pytest.raises(ValueError, match=message):
        target.from_bytes(forged(component.to_bytes(), model=srsly.msgpack_dumps(model)))
    assert not target.is_initialized


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (lambda saved: {"targets": [[]]}, "its corpus is not one of this component"),
        (lambda saved: {"targets": saved["targets"][:1]}, "its targets are not those of 3 labels"),
        (lambda saved: {"targets": saved["targets"] + 0.5}, "its targets are not from 0 to 1"),
        (lambda saved: {"targets": saved["targets"] * np.nan}, "its targets are not from 0 to 1"),
        (lambda saved: {"known": saved["known"][:, :2]}, "its targets are not those of 3 labels"),
        (lambda saved: {"weights": saved["weights"] * 0}, "its weights are not positive numbers"),
        (lambda saved: {"weights": saved["weights"][1:]}, "its columns have different lengths"),
        (lambda saved: {"lengths": saved["lengths"][:, None]}, "its columns have different lengths"),
        (lambda saved: {"seen": None}, "its corpus is not one of this component"),
        (lambda saved: {"symbols": {}}, "its corpus is not one of this component"),
    ],
)
def test_impossible_corpora_are_refused(
    with_corpus: bytes, changes: Callable[[dict[str, Any]], dict[str, Any]], message: str
) -> None:
    corpus = unpack_message(unseal(with_corpus)[0]["corpus"])
    damaged = forged(with_corpus, corpus=pack_message({**corpus, **changes(corpus)}))
    with pytest.raises(ValueError, match=message):
        component_of(new_nlp(keep_corpus=True)).from_bytes(damaged)


def test_other_messages_are_refused(component: TextCatGraft) -> None:
    data = component.to_bytes(exclude=["vocab"])
    message = srsly.msgpack_loads(data)
    target = component_of(new_nlp())
    for changes, problem in [
        ({"version": 3}, "saved by a newer spacy_graft .*upgrade"),
        ({"version": 1}, "saved by an older spacy_graft .*train the model again"),
        ({"version": True}, "not a sealed message"),
        ({"digest": b"1"}, "not a sealed message"),
        ({"more": 1}, "not a sealed message"),
        ({"parts": {**message["parts"], "more": b"1"}}, "its digest is not that of its content"),
        ({"parts": {**message["parts"], 1: b"1"}}, "its digest is not that of its content"),
        ({"parts": {key: part for key, part in message["parts"].items() if key != "cfg"}}, "its digest is not"),
    ]:
        with pytest.raises(ValueError, match=problem):
            target.from_bytes(pack_message({**message, **changes}))
    with pytest.raises(ValueError, match="saved by an older spacy_graft, in a format that is no longer read"):
        target.from_bytes(component.model.to_bytes())


def test_parts_are_sealed_by_name_and_content() -> None:
    parts = {"a": b"bc", "d": b""}
    assert unseal(seal(parts))[0] == parts
    digests = [
        unseal(seal(some))[1] for some in (parts, {"a": b"bc"}, {"ab": b"c", "d": b""}, {"a": b"b", "d": b"c"}, {})
    ]
    assert len(set(digests)) == len(digests)
    assert unseal(seal({"d": b"", "a": b"bc"}))[1] == digests[0]


@pytest.mark.parametrize("exclude", [["cfg"], ["model"], ["cfg", "model"]])
def test_excluded_parts_stay(
    component: TextCatGraft, other: TextCatGraft, docs: list[Doc], tmp_path: Path, exclude: list[str]
) -> None:
    """Whether they are left out when the component is saved or when it is loaded."""
    other.to_disk(tmp_path, exclude=exclude)
    for load in (
        lambda target: target.from_bytes(other.to_bytes(exclude=exclude)),
        lambda target: target.from_bytes(other.to_bytes(), exclude=exclude),
        lambda target: target.from_disk(tmp_path),
    ):
        target = component_of(new_nlp()).from_bytes(component.to_bytes())
        target.cfg["threshold"] = 0.125
        load(target)
        assert (target.cfg["threshold"] == 0.125) == ("cfg" in exclude)
        expected = component if "model" in exclude else other
        assert target.predict(docs).tobytes() == expected.predict(docs).tobytes()


def test_thresholds_are_loaded(several: TextCatGraft, tmp_path: Path) -> None:
    several.to_disk(tmp_path)
    loaded = component_of(new_nlp(MULTILABEL)).from_disk(tmp_path)
    assert loaded.cfg == several.cfg
    assert loaded.thresholds["food"] == 0.25  # type: ignore[attr-defined]


class Failure:
    """Makes the call number ``fails_at`` of a function fail, as on a full disk; calls before it do what they did."""

    def __init__(self, function: Callable[..., Any], fails_at: int) -> None:
        self.function, self.fails_at, self.calls = function, fails_at, 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        if self.calls == self.fails_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.function(*arguments)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("fails_at", [1, 2, 3])
@pytest.mark.parametrize("interrupted_before", [False, True])
def test_a_save_that_fails_leaves_one_model(
    component: TextCatGraft,
    other: TextCatGraft,
    docs: list[Doc],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    fails_at: int,
    interrupted_before: bool,
) -> None:
    """The old one until the file of the model is replaced, which is the second of three; then the new one."""
    component.to_disk(tmp_path)
    with monkeypatch.context() as patch:
        if interrupted_before:
            patch.setattr(os, "fsync", Failure(os.fsync, 2))
            with pytest.raises(OSError, match="No space left"):
                other.to_disk(tmp_path)
    with monkeypatch.context() as patch:
        failure = Failure(os.fsync, fails_at)
        if step == "fsync":
            patch.setattr(os, "fsync", failure)
        else:
            replace = Path.replace
            failure.function = replace
            patch.setattr(Path, "replace", lambda path, target: failure(path, target))
        with pytest.raises(OSError, match=r"(model|seal) cannot be written: No space left"):
            other.to_disk(tmp_path)
    loaded = component_of(new_nlp()).from_disk(tmp_path)
    expected = other if fails_at == 3 else component
    assert loaded.predict(docs).tobytes() == expected.predict(docs).tobytes()
    assert {path.name for path in tmp_path.iterdir()} == {"model", "seal", "vocab"}
    component.to_disk(tmp_path)
    assert len(json.loads((tmp_path / "seal").read_text())["digests"]) == 1
    assert component_of(new_nlp()).from_disk(tmp_path).predict(docs).tobytes() == component.predict(docs).tobytes()


def test_a_vocab_that_cannot_be_written_leaves_that_of_the_model(
    component: TextCatGraft, other: TextCatGraft, docs: list[Doc], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    component.to_disk(tmp_path)
    strings = (tmp_path / "vocab" / "strings.json").read_bytes()
    other.vocab.strings.add("a word of later")

    def full(*_: Path) -> None:
        raise OSError("No space left")

    with monkeypatch.context() as patch:
        patch.setattr("spacy_graft.files.replace_folder", full)
        with pytest.raises(OSError, match="No space left"):
            other.to_disk(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"model", "seal", "vocab"}
    assert (tmp_path / "vocab" / "strings.json").read_bytes() == strings
    loaded = component_of(new_nlp()).from_disk(tmp_path)
    assert loaded.predict(docs).tobytes() == component.predict(docs).tobytes()


def test_a_first_save_that_fails_leaves_none(
    component: TextCatGraft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for fails_at in (1, 2):
        folder = tmp_path / str(fails_at)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", Failure(os.fsync, fails_at))
            with pytest.raises(OSError, match="No space left"):
                component.to_disk(folder, exclude=["vocab"])
        with pytest.raises(FileNotFoundError, match="is missing"):
            component_of(new_nlp()).from_disk(folder, exclude=["vocab"])


def test_saved_folders_can_be_saved_over(component: TextCatGraft, other: TextCatGraft, tmp_path: Path) -> None:
    for saved in (component, other, component, component):
        saved.to_disk(tmp_path, exclude=["vocab"])
        digests = json.loads((tmp_path / "seal").read_text())["digests"]
        assert digests == [unseal((tmp_path / "model").read_bytes())[1]]
    (tmp_path / "seal").write_bytes(b"damaged")
    write_sealed(tmp_path, other.to_bytes(exclude=["vocab"]))
    loaded = component_of(new_nlp()).from_disk(tmp_path, exclude=["vocab"])
    assert np.array_equal(loaded.model.get_param("W"), other.model.get_param("W"))
