"""Items of a whole document: its extensions and metadata."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from spacy.tokens import Doc

from ..options import as_python, require_keys
from ..registry import graft_features
from .blocks import BlockKind, ItemValue
from .extensions import as_string, check_registered, described, is_number
from .items import check_width, string_names, string_symbols
from .options import as_names, check_item_settings

if TYPE_CHECKING:
    from spacy.strings import StringStore


@graft_features("spacy_graft.DocAttributes.v1")
@dataclass(frozen=True)
class DocAttributes:
    """Attributes of a document beside its text: at most one item for each attribute.

    Values are strings, integers and booleans. A number whose attribute has ``bins`` is replaced by its bin.
    None, an empty string or a missing key of ``doc.user_data`` gives no item: missing metadata are normal.

    Parameters
    ----------
    extensions : list of str
        Document extensions: ``section`` for ``doc._.section``.
    metadata : list of str
        Keys of ``doc.user_data``.
    bins : dict of lists of numbers, or pairs of a name and a list, optional
        Increasing edges by the name of an attribute: ``{"year": [1990, 2000]}`` makes the bins ``year < 1990``,
        ``1990 <= year < 2000`` and ``2000 <= year``.
    min_df : int
        Least number of documents of an item.
    penalty_factor : float
        Factor of the penalty weights of these items: above 1, features of other blocks are preferred.

    Raises
    ------
    ValueError
        If no attribute is named, or one twice, edges of bins are not finite numbers that increase, bins are of
        an attribute that is not named, ``min_df`` is less than 1, or ``penalty_factor`` is not above 0.
    """

    extensions: Sequence[str] = ()
    metadata: Sequence[str] = ()
    # Stored as pairs of name and edges, which can be hashed.
    bins: Mapping[str, Sequence[float]] | Sequence[Any] | None = None
    min_df: int = 2
    penalty_factor: float = 1.0

    value: ClassVar[ItemValue] = "binary"
    width: ClassVar[int] = 2
    kind: ClassVar[BlockKind] = BlockKind.ITEMS
    feature_kind: ClassVar[str] = "document attribute"
    dtype: ClassVar[type[np.unsignedinteger]] = np.uint64

    def __post_init__(self) -> None:
        for option in ("extensions", "metadata"):
            object.__setattr__(self, option, as_names("DocAttributes", option, getattr(self, option)))
        check_item_settings(self)
        attributes = (*self.extensions, *self.metadata)
        if not attributes:
            raise ValueError(
                "DocAttributes: extensions and metadata are both empty. Name a document extension or a key of "
                'doc.user_data, as metadata=["section"].'
            )
        for name in attributes:
            if attributes.count(name) > 1:
                raise ValueError(
                    f"DocAttributes: {name!r} is named twice in extensions and metadata; its items would have the "
                    f"same name. Leave out one of them, or give it a block of its own."
                )
        bins = {name: checked_edges(name, edges) for name, edges in named_edges(self.bins or ()).items()}
        if unknown := sorted(set(bins) - set(attributes)):
            raise ValueError(
                f"DocAttributes: there are bins of {unknown[0]!r}, which is not among extensions and metadata: "
                f"{', '.join(attributes)}"
            )
        object.__setattr__(self, "bins", tuple(sorted(bins.items())))

    @property
    def _edges(self) -> dict[str, Sequence[float]]:
        """The edges of the bins, by attribute."""
        return dict(self.bins or ())

    @property
    def stored_keys(self) -> list[Any]:
        """The keys of ``doc.user_data`` that have what is set; what is computed when it is read has none."""
        return [*self.metadata, *(("._.", name, None, None) for name in self.extensions)]

    def check(self, doc: Doc) -> None:
        """Raise a ValueError if an extension is not registered."""
        for name in self.extensions:
            check_registered("DocAttributes", Doc, name)

    def symbols(self, doc: Doc) -> np.ndarray:
        """Return the attributes that the document has, and their values: uint64 (n_occurrences, 2).

        Raises
        ------
        ValueError
            If an extension is not registered, or a value is no string, integer or boolean and has no bin.
        """
        self.check(doc)
        given = [(name, f"doc._.{name}", getattr(doc._, name)) for name in self.extensions]
        given += [(name, f"doc.user_data[{name!r}]", doc.user_data.get(name)) for name in self.metadata]
        edges = self._edges
        names: list[str] = []
        for name, source, value in given:
            try:
                label = value_label(name, as_python(value), edges.get(name))
            except ValueError as error:
                raise ValueError(f"DocAttributes: {source} of the document {doc[:10].text!r} {error}") from None
            if label:
                names += (name, label)
        return string_symbols(names, doc.vocab.strings).reshape(-1, 2)

    def places(self, doc: Doc) -> np.ndarray:
        """Return no places: the items are not in the text. int32 (n_occurrences, 0, 2)."""
        return np.empty((len(self.symbols(doc)), 0, 2), np.int32)

    def names(self, symbols: np.ndarray, strings: StringStore) -> tuple[str, ...]:
        """Return the name of the attribute, and its value or bin."""
        return string_names(symbols, strings)

    def values(self, names: Sequence[str], strings: StringStore) -> np.ndarray:
        """Return the symbols of names, which are added to ``strings``: uint64, 1-D.

        Raises
        ------
        ValueError
            If the names are not those of whole items, of attributes of this block with a value, or of their bins.
        """
        check_width(self, names)
        attributes = (*self.extensions, *self.metadata)
        edges = self._edges
        for name, label in zip(names[::2], names[1::2], strict=True):
            if name not in attributes:
                raise ValueError(f"Items of DocAttributes are of {', '.join(attributes)}, but one is of {name!r}")
            if not label:
                raise ValueError(f"Items of DocAttributes must have values, but one of {name!r} is empty")
            if name in edges and label not in (labels := bin_labels(name, edges[name])):
                raise ValueError(f"Bins of {name!r} are {', '.join(labels)}, but one is {label!r}")
        return string_symbols(names, strings)

    def text(self, names: Sequence[str]) -> str:
        """Return the attribute with its value, or the bin: ``section=sport``, ``1990 <= year < 2000``."""
        name, label = names
        return label if name in self._edges else f"{name}={label}"


def named_edges(bins: Any) -> dict[str, Sequence[float]]:
    """The edges by name; a ValueError if they are no pairs of both, or a config could not hold their names."""
    pairs = list(bins.items()) if isinstance(bins, Mapping) else list(bins) if isinstance(bins, Iterable) else [bins]
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        raise ValueError(f"DocAttributes: bins must be edges by name, or pairs of both, but are {bins!r:.100}.")
    if len(named := dict(pairs)) < len(pairs):
        raise ValueError(f"DocAttributes: bins have the edges of a name twice: {bins!r:.100}.")
    if isinstance(bins, Mapping):
        require_keys("DocAttributes", "bins", bins, 'pairs, such as bins = [["year", [1990, 2000]]]')
    return named


def checked_edges(name: str, edges: Any) -> tuple[float, ...]:
    """Return the edges of an attribute's bins, whole numbers as integers; raise a ValueError if they are invalid."""
    numbers = [as_python(edge) for edge in edges] if isinstance(edges, Sequence | np.ndarray) else []
    finite = all(is_number(edge) and -float("inf") < edge < float("inf") for edge in numbers)
    if not numbers or not finite or any(left >= right for left, right in pairwise(numbers)):
        raise ValueError(
            f"DocAttributes: bins of {name!r} must have a list of increasing, finite numbers as their edges, but have "
            f"{edges!r}"
        )
    # Equal blocks must give their bins equal names, and 1990 == 1990.0.
    return tuple(int(edge) if edge == int(edge) else edge for edge in numbers)


def value_label(name: str, value: Any, edges: Sequence[float] | None) -> str:
    """Return the value of an attribute as it names an item, or its bin; empty if there is no item.

    Raises
    ------
    ValueError
        If the value cannot name an item. The message continues a sentence that begins with the source of the value.
    """
    if value is None:
        return ""
    if isinstance(value, float) and value != value:
        raise ValueError("is NaN. Set it to None if there is no value")
    if edges is not None:
        if not is_number(value):
            raise ValueError(f"is {described(value)}, but has bins. It must be a number, or None if there is no value")
        return bin_labels(name, edges)[bisect_right(edges, value)]
    if isinstance(value, float):
        raise ValueError(
            f"is {described(value)}, but documents rarely share a float. Choose edges of bins for it: "
            f"bins={{{name!r}: [low, high]}}"
        )
    return as_string(value)


def bin_labels(name: str, edges: Sequence[float]) -> list[str]:
    """Return the names of the bins between, below and above the edges."""
    inner = [f"{left} <= {name} < {right}" for left, right in pairwise(edges)]
    return [f"{name} < {edges[0]}", *inner, f"{edges[-1]} <= {name}"]
