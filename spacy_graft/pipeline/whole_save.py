"""The callback ``spacy_graft.WholeSave.v1``: ``spacy train`` writes its pipelines whole or not at all."""

from __future__ import annotations

import copy
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import srsly
from spacy.language import Language
from spacy.training.loop import DIR_MODEL_BEST, DIR_MODEL_LAST

from ..files import reason_of, replaced_folder
from ..messages import listed, one_line, warn
from .card import add_card
from .components import graft_components, is_over

#: Bytes of a block of most file systems.
BLOCK = 4096


def whole_save() -> Callable[[Language], Language]:
    """Make the callback for ``[training] before_to_disk``.

    With it, a pipeline replaces the one before when all of it has been written. If it cannot be written, the one before
    stays and training ends with a message of one line. A pipeline with a graft component that was interrupted before
    its first training step is not written. The notes of its metadata are a model card (:mod:`.card`).
    """
    return saved_whole


def saved_whole(nlp: Language) -> Language:
    """The same pipeline, with another ``to_disk``."""
    saved = copy.copy(nlp)
    saved.to_disk = partial(save_trained, nlp)  # type: ignore[method-assign]
    return saved


def save_trained(nlp: Language, path: str | Path, **options: Any) -> None:
    """Write a pipeline of spaCy's loop as :func:`save_whole` does.

    A pipeline with a component that has done no step is not written. What was written after the last step is not
    written again.
    """
    untrained = [name for name, component in graft_components(nlp).items() if component.report is None]
    if untrained:
        print(f"{path} is not written: {listed(untrained)} has not done a training step.", file=sys.stderr)
        return
    if not (is_over(nlp) and Path(path).is_dir()):
        save_whole(nlp, path, **options)


def save_whole(nlp: Language, path: str | Path, **options: Any) -> None:
    """Write a pipeline into a new folder, which then takes the place of ``path``.

    Parameters
    ----------
    nlp : Language
    path : str or Path
    **options
        As for ``Language.to_disk``.

    Raises
    ------
    SystemExit
        If it cannot be written: ``spacy train`` is a command, which ends with the message and no traceback.
    """
    path = Path(path).resolve()  # a link to a folder stays one
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        add_card(nlp)
        with replaced_folder(path) as new:
            with without_places(nlp):
                nlp.to_disk(new, **options)
            keep_foreign(path, new)
            if path.name == DIR_MODEL_LAST:
                require_room(new, path.with_name(DIR_MODEL_BEST))
    except OSError as error:
        raise SystemExit(
            f"The pipeline cannot be written to {path}: {reason_of(error)}. What was there before is unchanged."
        ) from error


@contextmanager
def without_places(nlp: Language) -> Iterator[None]:
    """The pipeline, with a config that does not say where indexes are: no folder or address of a cluster is saved."""
    options: dict[str, dict[str, Any]] = nlp.config.get("initialize", {}).get("components", {})
    places = {name: options[name].pop("shards") for name in options if "shards" in options[name]}
    try:
        yield
    finally:
        for name, place in places.items():
            options[name]["shards"] = place


def keep_foreign(before: Path, new: Path) -> None:
    """Copy what somebody has put into the folder of a pipeline, such as a licence, into that which replaces it."""
    components = components_of_saved(before)
    if components is None:
        return
    # Some components write a file.
    of_components = {*components, *(Path(name).with_suffix(".json").name for name in components)}
    own = {"config.cfg", "meta.json", "tokenizer", "vocab", *of_components, *os.listdir(new)}
    for path in before.iterdir():
        try:
            if path.name in own:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, new / path.name, symlinks=True)
            else:
                shutil.copy2(path, new / path.name, follow_symlinks=False)
        except OSError as error:  # the pipeline is worth more
            warn(f"{path} is not kept: it cannot be copied ({one_line(str(error))}).")


def components_of_saved(folder: Path) -> list[str] | None:
    """The components of a pipeline in a folder; None if it holds none."""
    try:
        meta = srsly.read_json(folder / "meta.json")
    except (OSError, ValueError):
        return None
    names = [*meta.get("pipeline", []), *meta.get("disabled", [])] if isinstance(meta, dict) else None
    return names if names is not None and all(isinstance(name, str) for name in names) else None


def require_room(written: Path, best: Path) -> None:
    """Raise an OSError if there is no room for the copy that ``spacy train`` makes of its best pipeline.

    It first deletes the best pipeline so far, and would leave half of one.
    """
    needed = size_of(written) - size_of(best)
    free = shutil.disk_usage(written).free
    if free < needed:
        raise OSError(f"a copy for model-best needs {needed:,} bytes, but only {free:,} are free")


def size_of(folder: Path) -> int:
    """The bytes that a folder takes on disk, where each file is blocks of 4 KiB; 0 if there is none."""
    return sum(-(-path.stat().st_size // BLOCK) * BLOCK for path in folder.rglob("*") if path.is_file())
