"""The features of a model, by name."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import srsly
from thinc.api import Model, deserialize_attr, serialize_attr

from ..extract.bags import Vocabulary
from ..extract.terms import NamedTerm

#: Version of the bytes. Raise it when their meaning changes, and go on reading the older ones. 1 had no members.
FORMAT = 2

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
        what is matched. For an item both are its own names; combinations have none.
    members : tuple of tuples of NamedTerm
        What each combination is the product of; nothing for other features. No two features of a block have the same
        n-gram and members.
    df : int32 (n_features)
        Training documents that hold the feature: none of a vertex that only its network gives a weight.

    Raises
    ------
    ValueError
        If these do not belong together.
    """

    blocks: tuple[str, ...]
    ngrams: Ngrams
    longest: Ngrams
    members: tuple[tuple[NamedTerm, ...], ...]
    df: np.ndarray

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in ("blocks", "ngrams", "longest", "members", "df")}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of the feature table differ in length: {lengths}")
        for ngram, longest, members in zip(self.ngrams, self.longest, self.members, strict=True):
            if bool(ngram) == bool(members) or bool(longest) == bool(members):
                raise ValueError("a feature of the table has neither symbols nor members, or both")
            if len(members) == 1 or not all(member.symbols for member in members):
                raise ValueError("a combination of the feature table has a single member, or one without symbols")
        if len(set(zip(self.blocks, self.ngrams, self.members, strict=True))) < self.n_features:
            raise ValueError("the feature table has a feature twice")
        if np.any(self.df < 0):
            raise ValueError("the feature table has a feature that is in fewer than no documents")

    @classmethod
    def empty(cls) -> FeatureTable:
        """Return the table of a model without features."""
        return cls((), (), (), (), np.zeros(0, np.int32))

    @property
    def n_features(self) -> int:
        return len(self.blocks)

    def terms(self, feature: int, longest: bool = False) -> tuple[NamedTerm, ...]:
        """The members of a combination, or a feature's own n-gram (if asked, the longest of its class) or item."""
        names = self.longest[feature] if longest else self.ngrams[feature]
        return self.members[feature] or (NamedTerm(self.blocks[feature], names),)

    def to_bytes(self) -> bytes:
        """Write the table as MessagePack."""
        members = [[(member.block, *member.symbols) for member in of_feature] for of_feature in self.members]
        columns = {"blocks": self.blocks, "ngrams": self.ngrams, "longest": self.longest, "members": members}
        return srsly.msgpack_dumps({"version": FORMAT, **columns, "df": self.df.tolist()})

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
        members = [[]] * len(blocks) if version == 1 else items(message.get("members"), list, "members")
        of_features = tuple(tuple(map(member, items(of_feature, list, "members"))) for of_feature in members)
        df = items(message.get("df"), int, "df")
        if not all(0 <= count < 2**31 for count in df):
            raise damaged("'df' in its feature table has something else than numbers of documents")
        try:
            return cls(blocks, ngrams, longest, of_features, np.array(df, np.int32))
        except ValueError as error:
            raise damaged(str(error)) from error


def member(names: Any) -> NamedTerm:
    """Return a member of a combination from the names of its block and its symbols."""
    block, *symbols = items(names, str, "members") or [""]
    return NamedTerm(block, tuple(symbols))


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


class Vocabularies(dict[str, Vocabulary]):
    """Vocabularies by block, of those whose items' values depend on one."""

    def to_bytes(self) -> bytes:
        """Write them as MessagePack."""
        return srsly.msgpack_dumps(
            {
                name: {"keys": its.keys.tobytes(), "df": its.df.tobytes(), "n_documents": its.n_documents}
                for name, its in self.items()
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Vocabularies:
        """Read what :meth:`to_bytes` wrote; a ValueError if it did not."""
        message = unpacked(data)
        if not isinstance(message, dict) or not all(isinstance(name, str) for name in message):
            raise damaged("its vocabularies are no map")
        return cls({name: vocabulary(its) for name, its in message.items()})


def vocabulary(message: Any) -> Vocabulary:
    """Return a vocabulary from its message; a ValueError if it is none."""
    kinds = {"keys": bytes, "df": bytes, "n_documents": int}
    if not isinstance(message, dict) or {name: type(value) for name, value in message.items()} != kinds:
        raise damaged("a vocabulary has other parts than keys, df and n_documents")
    if len(message["keys"]) % 8 or len(message["df"]) * 2 != len(message["keys"]):
        raise damaged("a vocabulary has not one number of documents a key")
    keys, df = np.frombuffer(message["keys"], np.uint64), np.frombuffer(message["df"], np.int32)
    n_documents = message["n_documents"]
    if np.any(keys[1:] <= keys[:-1]) or np.any(df < 1) or np.any(df > n_documents) or n_documents >= 2**63:
        raise damaged("a vocabulary has keys out of order, or impossible numbers of documents")
    return Vocabulary(keys, df, n_documents)


@serialize_attr.register
def serialize_vocabularies(_: Vocabularies, value: Vocabularies, name: str, model: Model) -> bytes:
    """Tell thinc how vocabularies become bytes."""
    return value.to_bytes()


@deserialize_attr.register
def deserialize_vocabularies(_: Vocabularies, value: bytes, name: str, model: Model) -> Vocabularies:
    """Tell thinc how bytes become vocabularies; a ValueError if they are none."""
    return Vocabularies.from_bytes(value)


@serialize_attr.register
def serialize_features(_: FeatureTable, value: FeatureTable, name: str, model: Model) -> bytes:
    """Tell thinc how a feature table becomes bytes."""
    return value.to_bytes()


@deserialize_attr.register
def deserialize_features(_: FeatureTable, value: bytes, name: str, model: Model) -> FeatureTable:
    """Tell thinc how bytes become a feature table; a ValueError if they are none."""
    return FeatureTable.from_bytes(value)
