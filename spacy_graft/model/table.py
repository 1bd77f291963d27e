"""The table of a model's features, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from srsly import msgpack

from ..extract.bags import Vocabulary
from ..extract.terms import NamedTerm, Term

#: Version of the saved format. Increase it when the format changes, or what symbols of a reader mean.
FORMAT = 3

ValueT = TypeVar("ValueT")

#: Sequences of symbol names.
Ngrams = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features of a model; row k of the weights belongs to feature k.

    Attributes
    ----------
    blocks : tuple of str
        The block of each feature.
    ngrams, longest : tuple of tuples of str
        Names of the symbols of each feature's shortest and longest n-gram with the same training documents. The
        shortest is what is matched. For an item both are its names; for a combination both are empty.
    members : tuple of tuples of NamedTerm
        The members of each combination; empty for other features. No two features of a block have the same n-gram and
        members.
    df : int32 (n_features)
        Number of training documents with the feature; 0 for a vertex that gets its weight from the network alone.

    Raises
    ------
    ValueError
        If the columns are inconsistent.
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
            raise ValueError("the feature table has a negative number of documents")

    @classmethod
    def empty(cls) -> FeatureTable:
        """Return the table of a model without features."""
        return cls((), (), (), (), np.zeros(0, np.int32))

    @property
    def n_features(self) -> int:
        return len(self.blocks)

    def terms(self, feature: int, longest: bool = False) -> tuple[NamedTerm, ...]:
        """The members of a combination, or the only term of another feature: its n-gram (or longest one) or item."""
        names = self.longest[feature] if longest else self.ngrams[feature]
        return self.members[feature] or (Term(self.blocks[feature], names),)

    def to_bytes(self) -> bytes:
        """Write the table as MessagePack."""
        members = [[(member.block, *member.symbols) for member in row] for row in self.members]
        columns = {"blocks": self.blocks, "ngrams": self.ngrams, "longest": self.longest, "members": members}
        return pack_message({"version": FORMAT, **columns, "df": self.df.tolist()})

    @classmethod
    def from_bytes(cls, data: bytes) -> FeatureTable:
        """Read what :meth:`to_bytes` wrote.

        Raises
        ------
        ValueError
            If the bytes are damaged or of another version.
        """
        message = unpack_message(data)
        version = message.get("version") if isinstance(message, dict) else None
        if type(version) is not int or version < 1:
            raise damaged_model("its feature table has no version number")
        check_version(version, FORMAT)
        blocks = tuple(checked_list(message.get("blocks"), str, "blocks"))
        ngrams, longest = (
            tuple(tuple(checked_list(ngram, str, name)) for ngram in checked_list(message.get(name), list, name))
            for name in ("ngrams", "longest")
        )
        members = checked_list(message.get("members"), list, "members")
        all_members = tuple(tuple(map(parse_member, checked_list(row, list, "members"))) for row in members)
        df = checked_list(message.get("df"), int, "df")
        if not all(0 <= count < 2**31 for count in df):
            raise damaged_model("'df' in its feature table has values that are not numbers of documents")
        try:
            return cls(blocks, ngrams, longest, all_members, np.array(df, np.int32))
        except ValueError as error:
            raise damaged_model(str(error)) from error


def parse_member(names: Any) -> NamedTerm:
    """Return a member of a combination from the names of its block and its symbols."""
    block, *symbols = checked_list(names, str, "members") or [""]
    return NamedTerm(block, tuple(symbols))


def damaged_model(problem: str) -> ValueError:
    """Return the error for bytes that are not a model of spacy_graft."""
    return ValueError(
        f"The model cannot be read: {problem}. The file is damaged, was edited, or was not written by "
        f"spacy_graft. Download or train it again."
    )


def check_version(version: int, known: int) -> None:
    """Raise a ValueError unless a saved format is the known one."""
    if version != known:
        other, remedy = ("a newer", "upgrade spacy_graft") if version > known else ("an older", "train the model again")
        raise ValueError(
            f"The model was saved by {other} spacy_graft (format {version}; this one reads format {known}): {remedy}."
        )


def pack_message(value: Any) -> bytes:
    """Write plain values and arrays as MessagePack. Strings may have halves of surrogate pairs."""
    data: bytes = msgpack.dumps(value, use_bin_type=True, unicode_errors="surrogatepass")
    return data


def unpack_message(data: bytes) -> Any:
    """Read MessagePack; any error is a ValueError. Sizes that damaged data claims are not allocated."""
    try:
        return msgpack.loads(data, raw=False, unicode_errors="surrogatepass")
    except Exception as error:
        raise damaged_model(f"it is not valid MessagePack ({error})") from error


def types_of(message: Any) -> dict[Any, type]:
    """The types of the parts of a message, by name; none if it has no names."""
    return {name: type(part) for name, part in message.items()} if isinstance(message, dict) else {}


def checked_list(values: Any, kind: type[ValueT], name: str) -> list[ValueT]:
    """Return a list of values of exactly this type (a bool is not an int here); or raise a ValueError."""
    if not isinstance(values, list) or not {*map(type, values)} <= {kind}:
        raise damaged_model(f"{name!r} in its feature table is not a list of {kind.__name__}")
    return values


class Vocabularies(dict[str, Vocabulary]):
    """Vocabularies by block, for the blocks whose item values depend on one."""

    def to_bytes(self) -> bytes:
        """Write them as MessagePack."""
        return pack_message(
            {
                name: {"keys": own.keys.tobytes(), "df": own.df.tobytes(), "n_documents": own.n_documents}
                for name, own in self.items()
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Vocabularies:
        """Read what :meth:`to_bytes` wrote; raise a ValueError for other bytes."""
        message = unpack_message(data)
        if not isinstance(message, dict) or not all(isinstance(name, str) for name in message):
            raise damaged_model("its vocabularies are not a map")
        return cls({name: parse_vocabulary(value) for name, value in message.items()})


def parse_vocabulary(message: Any) -> Vocabulary:
    """Return a vocabulary from its message; raise a ValueError if it is damaged."""
    if types_of(message) != {"keys": bytes, "df": bytes, "n_documents": int}:
        raise damaged_model("a vocabulary has other parts than keys, df and n_documents")
    if len(message["keys"]) % 8 or len(message["df"]) * 2 != len(message["keys"]):
        raise damaged_model("a vocabulary does not have one number of documents for each key")
    keys, df = np.frombuffer(message["keys"], np.uint64), np.frombuffer(message["df"], np.int32)
    n_documents = message["n_documents"]
    if np.any(keys[1:] <= keys[:-1]) or np.any(df < 1) or np.any(df > n_documents) or not 0 <= n_documents < 2**63:
        raise damaged_model("a vocabulary has keys out of order, or impossible numbers of documents")
    return Vocabulary(keys, df, n_documents)
