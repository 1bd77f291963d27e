"""Models as plain values, in the format of docs/export.md."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimators import require_fitted
from ..extract.letters import is_combining
from ..extract.texts import TextBytes, TextCharacters, TextWords
from ..model.matching import rows_by_block
from ..model.snapshot import Snapshot
from ..model.weights import entries
from ..text_classifier import GraftTextClassifier
from .scorer import COMPLEMENTS, EXPORT_FORMAT, EXPORT_VERSION

if TYPE_CHECKING:
    from ..extract.characters import CharacterNgrams
    from ..pipeline.textcat import TextCatGraft

ALTERNATIVE = (
    "Train a GraftTextClassifier with the analyzers 'char', 'char_wb', 'word' or 'byte', which need no tokenizer, or a "
    "component whose only blocks are CharacterNgrams, without marks of capitals."
)
#: Of integers in JavaScript: larger ones are rounded.
LARGEST_INTEGER = 2**53 - 1


@dataclass(frozen=True)
class Source:
    """What is exported of a model.

    Attributes
    ----------
    snapshot : Snapshot
    labels : list of str, float, int or bool
    exclusive : bool
    thresholds : list of float
        Least probabilities, where labels are not exclusive.
    offset : float
        Subtracted from all scores.
    of_tokens : bool
        Whether texts are divided into tokens by spaCy.
    """

    snapshot: Snapshot
    labels: list[Any]
    exclusive: bool
    thresholds: list[float]
    offset: float = 0.0
    of_tokens: bool = False


def portable_model(model: Any) -> dict[str, Any]:
    """Return a model in the values of JSON.

    The model is a GraftTextClassifier, a TextCatGraft or a Language.

    Raises
    ------
    ValueError
        If it is something else, is not trained, or has features that cannot be computed from the text alone.
    """
    source = source_of(model)
    snapshot, length = source.snapshot, length_kind(source)
    if snapshot.word_scores is not None:
        raise ValueError(
            "The model cannot be exported: it has word vectors, whose words are not in the format. Train it without."
        )
    rows = rows_by_block(snapshot.features, snapshot.blocks)
    readings = {name: reading_of(source, name, len(of_block)) for name, of_block in rows.items()}
    found = {name: features_of_block(snapshot, of_block, length) for name, of_block in rows.items()}
    letters = set().union(*(letters_of(readings[name], own["ngrams"]) for name, own in found.items()))
    return {
        "format": EXPORT_FORMAT,
        "version": EXPORT_VERSION,
        "labels": source.labels,
        "exclusive": source.exclusive,
        **({} if source.exclusive else {"thresholds": source.thresholds}),
        "intercepts": snapshot.intercepts.tolist(),
        "offset": source.offset,
        "length": length,
        **({} if length == "none" else {"scale": snapshot.mean_scale}),
        **lowercase_table(source, letters, length == "words"),
        **(
            {"words": characters_of_words()}
            if any(reading["symbols"] == "words" for reading in readings.values())
            else {}
        ),
        "blocks": [{"name": name, **readings[name], **found[name]} for name in rows],
    }


def source_of(model: Any) -> Source:
    """What is exported of an estimator, a component or a pipeline."""
    if isinstance(model, GraftTextClassifier):
        return source_of_estimator(model)
    from spacy.language import Language

    from ..pipeline.components import graft_component
    from ..pipeline.textcat import TextCatGraft

    component = graft_component(model) if isinstance(model, Language) else model
    if not isinstance(component, TextCatGraft):
        raise ValueError(
            f"export takes a GraftTextClassifier, a textcat_graft component or a pipeline with one, not "
            f"{type(model).__name__}: what other models read is not a text alone."
        )
    return source_of_component(component)


def source_of_estimator(model: GraftTextClassifier) -> Source:
    """What is exported of an estimator; its scores are those of ``decision_function``."""
    require_fitted(model)
    labels = model.classes_.tolist()
    if not all(isinstance(label, str | int | float) for label in labels):
        raise ValueError("Only labels that are strings or numbers can be exported: train with such labels.")
    if large := [label for label in labels if isinstance(label, int) and abs(label) > LARGEST_INTEGER]:
        raise ValueError(
            f"The label {large[0]} is another number in JavaScript, whose integers end at {LARGEST_INTEGER}. Train "
            f"with strings as labels."
        )
    offset = 0.0 if model._is_binary else model._common_intercept
    return Source(model._model.snapshot, labels, model._exclusive, model._thresholds.tolist(), offset)


def source_of_component(component: TextCatGraft) -> Source:
    """What is exported of a component."""
    from ..model.sparse_linear import snapshot_of
    from ..pipeline.textcat import TextCatGraftMultilabel

    component.require_initialized()
    snapshot = snapshot_of(component.model)
    thresholds: list[float] = []
    if isinstance(component, TextCatGraftMultilabel):
        thresholds = list(component.thresholds_of(snapshot).values())
    return Source(snapshot, list(component.labels), component.exclusive, thresholds, of_tokens=True)


def length_kind(source: Source) -> str:
    """What the length of a document is, by which its features are weighted: none, features or words."""
    snapshot = source.snapshot
    if not snapshot.mean_scale or not snapshot.features.n_features:
        return "none"
    if len(snapshot.length_shares):
        return "features"
    if source.of_tokens:
        raise ValueError(
            "The model cannot be exported: its lengths of documents count spaCy's tokens. Train with a refit "
            "(GraftingPath), or with length_normalisation = false, or train a GraftTextClassifier, which counts words "
            "between white space."
        )
    return "words"


def reading_of(source: Source, name: str, n_features: int) -> dict[str, Any]:
    """How the symbols of a block or reader are read from a text.

    Raises
    ------
    ValueError
        If they need more than the text.
    """
    block: Any = source.snapshot.blocks[name]
    if source.of_tokens:
        from ..extract.characters import CharacterNgrams

        if type(block) is not CharacterNgrams:
            raise ValueError(
                f"The model cannot be exported: {n_features:,} of its features are of block {name!r} "
                f"({type(block).__name__}), which needs spaCy's tokens or what is not in the text. {ALTERNATIVE}"
            )
        if block.mark_capitals:
            raise ValueError(
                f"The model cannot be exported: {n_features:,} of its features are of block {name!r}, whose marks of "
                f"capitals are not in the format. Train with mark_capitals = false."
            )
        return {"symbols": "characters", **flags_of_characters(block), "reverse_complement": False}
    if isinstance(block, TextCharacters):
        return {"symbols": "characters", **flags_of_characters(block), "reverse_complement": block.reverse_complement}
    if isinstance(block, TextWords) and block.analyzer is None:
        return {"symbols": "words", "lowercase": block.lowercase, "ends": block.ends}
    if isinstance(block, TextBytes):
        return {"symbols": "bytes", "ends": block.ends}
    what = "a function" if isinstance(block, TextWords) else "for integers of 64 bits, which JavaScript does not have"
    raise ValueError(f"The model cannot be exported: its analyzer {name!r} is {what}. {ALTERNATIVE}")


def flags_of_characters(block: CharacterNgrams | TextCharacters) -> dict[str, bool]:
    """How blocks of characters are read, of the options that both kinds have."""
    return {"lowercase": block.lowercase, "within_words": block.within_words, "ends": block.ends}


def features_of_block(snapshot: Snapshot, rows: np.ndarray, length: str) -> dict[str, Any]:
    """The n-grams of a block: document frequencies, weights that are not 0, and what they add to lengths."""
    table = snapshot.features
    is_words = isinstance(snapshot.blocks[table.blocks[rows[0]]], TextWords)
    ngrams = [table.ngrams[row] for row in rows.tolist()]
    found: dict[str, Any] = {
        "ngrams": [list(ngram) if is_words else "".join(ngram) for ngram in ngrams],
        "df": table.df[rows].tolist(),
        "weights": [list(map(list, row)) for row in entries(snapshot.weights[rows])],
    }
    return found | ({"lengths": snapshot.length_shares[rows].tolist()} if length == "features" else {})


def letters_of(reading: dict[str, Any], ngrams: Iterable[Iterable[str]]) -> set[str]:
    """What matters in texts that are lower-cased: the letters of n-grams, and what they are complements of."""
    if not reading.get("lowercase"):
        return set()
    letters = {letter for ngram in ngrams for symbol in ngram for letter in symbol}
    return letters.union(
        base for base, other in COMPLEMENTS.items() if reading.get("reverse_complement") and other in letters
    )


def lowercase_table(source: Source, letters: set[str], all_letters: bool) -> dict[str, Any]:
    """The lower case of all letters that become these, if there are any.

    Languages have different versions of Unicode. So the model says itself what is lower-cased, as this Python does it.
    """
    if not letters and not all_letters:
        return {}
    kept = {own: low for own, low in lower_case().items() if all_letters or not letters.isdisjoint({own, *low})}
    if "Σ" not in kept and "ς" not in letters:
        return {"lowercase": {"letters": kept}}
    if source.of_tokens:
        raise ValueError(
            "The model cannot be exported: it has n-grams with a Greek sigma, whose lower case depends on spaCy's "
            "tokens. Train with lowercase = false, or train a GraftTextClassifier."
        )
    return {"lowercase": {"letters": kept, **sigma_context()}}


@cache
def lower_case() -> dict[str, str]:
    """All letters that have another lower case, with it."""
    return {letter: letter.lower() for letter in map(chr, range(sys.maxunicode + 1)) if letter.lower() != letter}


@cache
def sigma_context() -> dict[str, list[int]]:
    """Which letters decide whether a capital sigma is a final one: cased ones, behind those that are ignored."""
    characters = list(map(chr, range(sys.maxunicode + 1)))
    is_last = [f"{character}Σ".lower().endswith("ς") for character in characters]
    ignored = [f"a{character}Σ".lower().endswith("ς") and not is_last[ord(character)] for character in characters]
    return {"cased": ranges_of(is_last), "ignored": ranges_of(ignored)}


@cache
def characters_of_words() -> dict[str, list[int]]:
    """Which characters words are made of, as :func:`~spacy_graft.extract.letters.word_pattern` has it."""
    characters = list(map(chr, range(sys.maxunicode + 1)))
    return {
        "letters": ranges_of([character.isalnum() or character == "_" for character in characters]),
        "combining": ranges_of(list(map(is_combining, characters))),
    }


def ranges_of(flags: list[bool]) -> list[int]:
    """The first and last index of each run of true flags, in turn."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))).reshape(-1, 2)
    return [int(edge) for edge in (edges - [0, 1]).reshape(-1)]
