"""What ``initialize`` is given, checked: examples, labels, and what a training needs besides."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.training import validate_examples

from ..graft.constraints import Pattern
from ..graft.settings import GraftingPath
from ..index.places import IndexPlace, InMemory
from ..messages import listed, warn
from ..options import can_be_path, is_count
from .annotation import Examples, annotated
from .saving import check_thresholds
from .vectors import VectorsSource, vectors_block, vectors_of_vocab

if TYPE_CHECKING:
    from .fits import Resources
    from .network import NetworkSource
    from .textcat import TextCatGraft


def checked_examples(component: TextCatGraft, examples: Examples) -> Examples:
    """Yield the examples; raise an error if there are none, or if they are something else."""
    example = None
    for example in examples:
        validate_examples([example], f"{type(component).__name__}.initialize")
        yield example
    if example is None:
        raise ValueError(
            f"[{component.name}] There are no examples to initialize with. Check that the training corpus is not empty."
        )


def labels_of_string(name: str, string: str) -> list[str]:
    """The labels of a list as Python writes it, which is a string in a config; raise a ValueError for other strings."""
    try:
        labels = ast.literal_eval(string)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        labels = None
    if not isinstance(labels, list | tuple):
        raise ValueError(
            f"[{name}] labels must be a list of strings, not the string {string!r}. In a config: labels = "
            f"{json.dumps([string], ensure_ascii=False)}"
        )
    return list(labels)


def require_labels(component: TextCatGraft, labels: Sequence[str], positive_label: str | None) -> None:
    """Raise a ValueError if the component cannot have these labels, or no label can have its thresholds.

    A positive label of independent ones is a TypeError, as with spaCy's own components.
    """
    name = component.name
    thresholds = component.cfg.get("thresholds", {})
    check_thresholds(name, thresholds, thresholds)
    if component.exclusive and len(labels) < 2:
        raise ValueError(
            f"[{name}] Exclusive labels must be at least two different ones, but there are {listed(labels)}. Annotate "
            f"doc.cats of the examples with all labels, or list all in [initialize.components.{name}] labels; for a "
            f"single label, use textcat_graft_multilabel."
        )
    if not labels:
        raise ValueError(
            f"[{name}] There are no labels. Annotate doc.cats of the examples, or list the labels in "
            f"[initialize.components.{name}] labels."
        )
    component.constraints.check(f"[{name}]", labels, component.blocks)
    if (found := vectors_block(component.blocks)) is not None:
        block, _ = found
        if of_vectors := [text for text in component.constraints.names if Pattern(text).block == block]:
            raise ValueError(
                f"[{name}] The constraints have {listed(of_vectors)}, but the word vectors of block {block!r} are no "
                f"features: a word that is denied still counts by its vector. Take out these names, or the block."
            )
    if positive_label is None:
        return
    if not component.exclusive:
        raise TypeError(
            f"[{name}] Independent labels have no positive_label. Remove it from [initialize.components.{name}]."
        )
    if len(labels) != 2 or positive_label not in labels:
        raise ValueError(
            f"[{name}] The positive label {positive_label!r} is for scoring and must be one of two labels. The labels "
            f"of this component are {listed(labels)}. Change [initialize.components.{name}] positive_label, or remove "
            f"it."
        )


def network_source(
    component: TextCatGraft,
    nlp: Language | None,
    builder: Callable[..., Any] | None,
    max_length: Any,
    reader: Callable[..., Any] | None,
) -> NetworkSource | None:
    """What builds the network, from a builder of ``@graft_graphs`` and a reader of documents without labels."""
    name = component.name
    if not is_count(max_length):
        raise ValueError(
            f"[{name}] network_max_length must be an integer of at least 1, but is {max_length!r} "
            f"([initialize.components.{name}])."
        )
    if builder is None:
        if reader is not None:
            raise ValueError(
                f"[{name}] Unlabelled documents are used by a network only, and there is none. Set network in "
                f"[initialize.components.{name}], or remove unlabelled."
            )
        return None
    from .network import NetworkSource

    unlabelled = None if reader is None else partial(reader, nlp)
    if unlabelled is not None and nlp is not None:
        unlabelled = partial(annotated, unlabelled, nlp, component)
    source = NetworkSource(name, builder, max_length, component.blocks, component.vocab.strings, unlabelled)
    optional = component.learner.optional_blocks if isinstance(component.learner, GraftingPath) else ()
    if linked := [block for block in optional if block in source.vertex_blocks]:
        raise ValueError(
            f"[{name}] The network links features of {listed(linked)}, so that nothing of this can be optional. Remove "
            f"{listed(linked)} from optional_blocks of the learner."
        )
    return source


def vectors_source(component: TextCatGraft, read: Callable[..., Any] | None) -> VectorsSource | None:
    """Where word vectors come from; they are read here, so that what is wrong with them is told early."""
    found = vectors_block(component.blocks)
    if found is None:
        if read is not None:
            raise ValueError(
                f"[{component.name}] Word vectors are used by a block of vectors only, and there is none. Add a block "
                f'with @graft_features = "spacy_graft.Vectors.v1", or remove vectors from '
                f"[initialize.components.{component.name}]."
            )
        return None
    source = VectorsSource(component.name, *found, vectors_of_vocab if read is None else read, component.vocab)
    _ = source.given
    return source


def has_checkpoints(learner: Any) -> bool:
    """Whether the steps of a learner can be saved: those of a path along L1."""
    return isinstance(learner, GraftingPath) and learner.penalty == "l1"


def checkpoint_path(component: TextCatGraft, folder: str | None) -> Path | None:
    """The folder of the checkpoints; raise a ValueError for a learner that has none, and for what is no path."""
    name, learner = component.name, component.learner
    if folder is not None and not can_be_path(folder):
        raise ValueError(
            f"[{name}] checkpoints = {folder!r}, but it must be the path of a folder. Correct it in "
            f"[initialize.components.{name}], or remove it."
        )
    if folder is not None and not has_checkpoints(learner):
        under = " with penalty = 'l2'" if isinstance(learner, GraftingPath) else ""
        raise ValueError(
            f"[{name}] Checkpoints are of the steps of spacy_graft.GraftingPath.v1, but the learner is "
            f"{type(learner).__name__}{under}. Remove checkpoints from [initialize.components.{name}]."
        )
    return None if folder is None else Path(folder)


def warn_of_unused_choices(component: TextCatGraft, resources: Resources) -> None:
    """Warn of strengths to try of a network or of word vectors, if there are none."""
    missing = {
        "network_choices": None if resources.network else "network in initialize",
        "vectors_choices": None if resources.vectors else "block of word vectors",
    }
    for option, what in missing.items():
        if what is not None and getattr(component.learner, option, None):
            warn(f"[{component.name}] {option} of the learner has no effect without a {what}.")


def index_place(component: TextCatGraft, shards: Callable[..., Any] | None) -> IndexPlace:
    """Where the symbols and the indexes of the corpus are."""
    make: Any = InMemory if shards is None else shards
    place = make() if callable(make) else make
    if not isinstance(place, IndexPlace):
        raise ValueError(
            f"[{component.name}] shards must be one of @graft_shards, such as spacy_graft.InMemory.v1, and not "
            f"{type(place).__name__}. Correct it in [initialize.components.{component.name}]."
        )
    return place
