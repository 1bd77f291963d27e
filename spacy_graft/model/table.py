"""The features of a model, by name."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import srsly
from thinc.api import Model, deserialize_attr, serialize_attr

#: Version of the bytes. Raise it when their meaning changes, and go on reading the older ones.
FORMAT = 1

Item = TypeVar("Item")

#: Sequences of symbol names.
Ngrams = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Which features a model has; row k of its weights belongs to feature k.

    Attributes
    ----------
    blocks : tuple of str
        The block of each feature.
    ngrams, longest : tuple of tuples of str
        Shortest and longest n-gram of each feature's class, as names of symbols. The shortest is the feature: it is
        what is matched. No two features of a block have the same.
    df : int32 (n_features)
        Training documents that hold the feature.

    Raises
    ------
    ValueError
        If these do not belong together.
    """

    blocks: tuple[str, ...]
    ngrams: Ngrams
    longest: Ngrams
    df: np.ndarray

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in ("blocks", "ngrams", "longest", "df")}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of the feature table differ in length: {lengths}")
        if not all(self.ngrams) or not all(self.longest):
            raise ValueError("an n-gram of the feature table has no symbols")
        if len(set(zip(self.blocks, self.ngrams, strict=True))) < self.n_features:
            raise ValueError("the feature table has a feature twice")
        if np.any(self.df < 1):
            raise ValueError("the feature table has a feature that is in no document")

    @classmethod
    def empty(cls) -> FeatureTable:
        """Return the table of a model without features."""
        return cls((), (), (), np.zeros(0, np.int32))

    @property
    def n_features(self) -> int:
        return len(self.blocks)

    def to_bytes(self) -> bytes:
        """Write the table as MessagePack."""
        columns = {"blocks": self.blocks, "ngrams": self.ngrams, "longest": self.longest, "df": self.df.tolist()}
        return srsly.msgpack_dumps({"version": FORMAT, **columns})

    @classmethod
    def from_bytes(cls, data: bytes) -> FeatureTable:
        """Read what :meth:`to_bytes` wrote.

        Raises
        ------
        ValueError
            If it did not write these bytes, or a newer version of it did.
        """
        message = unpacked(data)
        version = message.get("version") if isinstance(message, dict) else None
        if type(version) is not int or version < 1:
            raise damaged("its feature table has no version number")
        if version > FORMAT:
            raise ValueError(
                f"The model was saved by a newer spacy_graft (format {version}; this one reads up to {FORMAT}): "
                f"upgrade spacy_graft to load it."
            )
        blocks = tuple(items(message.get("blocks"), str, "blocks"))
        ngrams, longest = (
            tuple(tuple(items(ngram, str, name)) for ngram in items(message.get(name), list, name))
            for name in ("ngrams", "longest")
        )
        df = items(message.get("df"), int, "df")
        if not all(1 <= count < 2**31 for count in df):
            raise damaged("'df' in its feature table has something else than numbers of documents")
        try:
            return cls(blocks, ngrams, longest, np.array(df, np.int32))
        except ValueError as error:
            raise damaged(str(error)) from error


def damaged(problem: str) -> ValueError:
    """Return the error for bytes that are no model of ours."""
    return ValueError(
        f"The model cannot be read: {problem}. It is damaged, has been edited or was not written by spacy_graft; get "
        f"or train the pipeline again."
    )


def unpacked(data: bytes) -> Any:
    """Read MessagePack, with a ValueError for whatever goes wrong; sizes that it only claims take no memory."""
    try:
        return srsly.msgpack_loads(data)
    except Exception as error:
        raise damaged(f"no valid MessagePack ({error})") from error
    finally:
        gc.enable()  # srsly turns the collector off while it reads, and leaves it off when it fails


def items(values: Any, kind: type[Item], name: str) -> list[Item]:
    """Return the values if they are a list of one type (and not of a subtype: no bool for an int)."""
    if not isinstance(values, list) or not all(type(value) is kind for value in values):
        raise damaged(f"{name!r} in its feature table is no list of {kind.__name__}")
    return values


@serialize_attr.register
def serialize_features(_: FeatureTable, value: FeatureTable, name: str, model: Model) -> bytes:
    """Tell thinc how a feature table becomes bytes."""
    return value.to_bytes()


@deserialize_attr.register
def deserialize_features(_: FeatureTable, value: bytes, name: str, model: Model) -> FeatureTable:
    """Tell thinc how bytes become a feature table; a ValueError if they are none."""
    return FeatureTable.from_bytes(value)
