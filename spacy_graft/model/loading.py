"""Reading a saved model: everything is checked before anything is loaded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..extract.blocks import Block, NgramBlock, is_combination_block, is_item_block, is_ngram_block
from ..extract.terms import NamedTerm
from ..graft.solution import Stability
from ..heap import frozen_heap
from .item_matching import ItemMatcher
from .matching import Blocks, rows_by_block, symbols_of
from .snapshot import Snapshot, check_shapes
from .table import FeatureTable, Vocabularies, damaged_model, pack_message, unpack_message
from .weights import loaded_weights
from .word_scores import pack_word_scores, unpack_word_scores

if TYPE_CHECKING:
    from spacy.strings import StringStore

#: The parts of a serialised thinc model, with one entry a node.
MODEL_PARTS = {"nodes": dict, "attrs": dict, "params": dict, "shims": list}

#: Attributes that are never saved: a file must not replace them.
TRANSIENT = {"blocks", "snapshot"}
#: What a snapshot is saved as, beside its arrays.
SNAPSHOT_ATTRS = ("features", "mean_scale", "vocabularies", "notes", "length_shares")
#: What else is saved of models that have it.
WORD_SCORES, STABILITY = "word_scores", "stability"
OPTIONAL_ATTRS = (WORD_SCORES, STABILITY)
#: The arrays of the stability of features.
STABILITY_ARRAYS = {"probabilities", "intervals"}


def read_message(message: Any, blocks: Blocks) -> tuple[str, Snapshot | None, dict[str, bytes]]:
    """Read what ``SparseLinearModel.to_dict`` gave.

    Returns
    -------
    name : str
    snapshot : Snapshot, optional
        None if the model had no weights.
    others : dict of str to bytes
        Attributes that others have set, in MessagePack.

    Raises
    ------
    ValueError
        If it is anything but a sparse linear model over these blocks.
    """
    node, attrs, params, shims = model_parts(message)
    name = node.get("name")
    empty = all(isinstance(part, dict) and not part for part in (node.get("dims"), node.get("refs"))) and not shims
    if not isinstance(name, str) or not empty:
        raise damaged_model(f"it is another model, {name!r}")
    if TRANSIENT.intersection(attrs) or not set(attrs).issuperset(SNAPSHOT_ATTRS):
        raise damaged_model(f"it has the wrong attributes: {', '.join(map(repr, attrs)) or 'none'}")
    others = {attr: value for attr, value in attrs.items() if attr not in (*SNAPSHOT_ATTRS, *OPTIONAL_ATTRS)}
    for value in others.values():
        unpack_message(value)
    # Models over texts are read without spaCy.
    from spacy.strings import StringStore

    return name, read_snapshot(attrs, params, blocks, StringStore()), others


def attrs_of(snapshot: Snapshot | None) -> dict[str, bytes]:
    """What is saved of a snapshot, or of a model without weights, beside its arrays."""
    saved = Snapshot.without_features({}, 0) if snapshot is None else snapshot
    attrs = {
        "features": saved.features.to_bytes(),
        "mean_scale": pack_message(saved.mean_scale),
        "length_shares": pack_message(saved.length_shares.tolist()),
        "vocabularies": saved.vocabularies.to_bytes(),
        "notes": pack_message(dict(saved.notes)),
    }
    if saved.stability is not None:
        attrs[STABILITY] = pack_message(vars(saved.stability))
    if saved.word_scores is not None:
        attrs[WORD_SCORES] = pack_word_scores(saved.word_scores)
    return attrs


@frozen_heap()
def read_snapshot(
    attrs: Mapping[str, bytes], params: dict[str, Any], blocks: Blocks, strings: StringStore
) -> Snapshot | None:
    """Read what :func:`attrs_of` gave, and the arrays ``W`` and ``b``.

    The names of symbols are added to ``strings``.

    Returns
    -------
    Snapshot, optional
        None if the model had no weights.

    Raises
    ------
    ValueError
        If it is anything but a model over these blocks.
    """
    mean_scale, all_shares, notes = (unpack_message(attrs[attr]) for attr in ("mean_scale", "length_shares", "notes"))
    if type(mean_scale) is not float or not 0.0 <= mean_scale < math.inf:
        raise damaged_model(f"its scale of document weights is {mean_scale!r}")
    shares = checked_shares(all_shares)
    if not isinstance(notes, dict) or not all(isinstance(key, str) for key in notes):
        raise damaged_model(f"its notes are not a map by name, but {notes!r:.60}")
    features = FeatureTable.from_bytes(attrs["features"])
    vocabularies = Vocabularies.from_bytes(attrs["vocabularies"])
    if isinstance(params.get("W"), dict) and isinstance(params.get("b"), np.ndarray):
        params = {**params, "W": loaded_weights(params["W"], features.n_features, params["b"].size)}
    check_params(params, features)
    check_features(features, vocabularies, blocks, strings)
    word_scores = unpack_word_scores(unpack_message(attrs[WORD_SCORES]), blocks) if WORD_SCORES in attrs else None
    if params["W"] is None:
        return None
    stability = read_stability(attrs[STABILITY], *params["W"].shape) if STABILITY in attrs else None
    return Snapshot(
        blocks,
        features,
        params["W"],
        params["b"],
        mean_scale,
        vocabularies,
        notes,
        length_shares=shares,
        word_scores=word_scores,
        stability=stability,
    )


def read_stability(data: bytes, n_features: int, n_labels: int) -> Stability:
    """Read the selection probabilities and intervals of a model; raise a ValueError if they are damaged."""
    message = unpack_message(data)
    if not isinstance(message, dict) or set(message) != STABILITY_ARRAYS:
        raise damaged_model("its selection probabilities and intervals are not both there")
    for name, values in message.items():
        check_floats(name, values)
    stability = Stability(**message)
    stability.check_shape(n_features, n_labels)
    if ((stability.probabilities < 0.0) | (stability.probabilities > 1.0)).any():
        raise damaged_model("a selection probability is not between 0 and 1")
    return stability


def checked_shares(values: Any) -> np.ndarray:
    """Return the shares of document lengths; or raise a ValueError."""
    if not isinstance(values, list) or not all(type(value) is float and 0.0 <= value < math.inf for value in values):
        raise damaged_model(f"its shares of document lengths are not finite numbers of at least 0, but {values!r:.60}")
    return np.array(values, np.float64)


def model_parts(message: Any) -> list[Any]:
    """Return node, attributes, parameters and shims of the only node."""
    for part, kind in MODEL_PARTS.items():
        nodes = message.get(part) if isinstance(message, dict) else None
        if not isinstance(nodes, list) or len(nodes) != 1 or not isinstance(nodes[0], kind):
            raise damaged_model(f"it does not have {part!r} of a single thinc model")
    return [message[part][0] for part in MODEL_PARTS]


def check_params(params: dict[str, Any], features: FeatureTable) -> None:
    """Raise a ValueError if ``W`` and ``b`` do not fit the features."""
    if set(params) != {"W", "b"}:
        raise damaged_model(f"it has the parameters {', '.join(map(repr, params))} instead of W and b")
    if params["W"] is None and params["b"] is None and not features.n_features:
        return
    for name, param in params.items():
        check_floats(name, param.data if name == "W" and hasattr(param, "tocsr") else param)
    check_shapes(features, params["W"], params["b"])


def check_floats(name: str, values: Any) -> None:
    """Raise a ValueError unless this is an array of finite float64."""
    if not isinstance(values, np.ndarray) or values.dtype.newbyteorder("=") != np.float64:
        raise damaged_model(f"{name} is not an array of 64-bit floating point numbers")
    if not np.isfinite(values).all():
        raise damaged_model(f"{name} has values that are not finite")


def check_features(
    features: FeatureTable, vocabularies: Vocabularies, blocks: Mapping[str, Block], strings: StringStore
) -> None:
    """Raise a ValueError if the blocks cannot have these features."""
    for name, rows in rows_by_block(features, blocks).items():
        block = blocks[name]
        if is_ngram_block(block):
            ngrams = [features.ngrams[row] for row in rows.tolist()]
            check_lengths(name, block, ngrams)
            symbols_of(block, ngrams, strings)
            # The longest n-grams are shown only: their names are to be those of symbols, but not to be kept.
            shown = dict.fromkeys(chain.from_iterable(features.longest[row] for row in rows.tolist()))
            symbols_of(block, [tuple(shown)], type(strings)())
        else:
            for row in rows.tolist():
                check_members(name, block, features.members[row], blocks)
                if features.longest[row] != features.ngrams[row]:
                    raise damaged_model(f"an item of block {name!r} has two names")
            terms = {features.terms(row): row for row in rows.tolist()}
            check_vocabularies(ItemMatcher.build(terms, blocks, strings).tables, vocabularies, blocks)


def check_lengths(name: str, block: NgramBlock, ngrams: list[tuple[str, ...]]) -> None:
    """Raise a ValueError if an n-gram is empty, or longer than its block allows."""
    longest = max(map(len, ngrams))
    if not all(ngrams):
        raise damaged_model(f"a feature of block {name!r}, which has n-grams only, is a combination")
    if block.max_length is not None and longest > block.max_length:
        raise ValueError(
            f"The model has an n-gram of {longest} symbols in block {name!r}, but its config allows "
            f"{block.max_length} (max_length). Use the config that it was trained with."
        )


def check_members(name: str, block: Block, members: tuple[NamedTerm, ...], blocks: Mapping[str, Block]) -> None:
    """Raise a ValueError if a combination has members that its block does not combine, or if an item has members."""
    allowed = block.of if is_combination_block(block) else ()
    of = [member.block for member in members]
    if bool(of) != is_combination_block(block) or not set(of).issubset(allowed) or not set(of).issubset(blocks):
        raise ValueError(
            f"The model has a feature in block {name!r} that combines {', '.join(map(repr, of)) or 'nothing'}, but its "
            f"config combines {', '.join(map(repr, allowed)) or 'nothing'}. Use the config that it was trained with."
        )


def check_vocabularies(names: Iterable[str], vocabularies: Vocabularies, blocks: Mapping[str, Block]) -> None:
    """Raise a ValueError if a vocabulary that values depend on is missing."""
    for name in names:
        block = blocks[name]
        if is_item_block(block) and block.value == "tf_idf" and name not in vocabularies:
            raise damaged_model(f"it has no vocabulary for block {name!r}, whose item values are tf-idf")
