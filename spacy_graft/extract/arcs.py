"""Items that are arcs of the dependency tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..options import check_flags
from ..registry import graft_features
from .blocks import BlockKind, ItemValue
from .columns import check_column, check_column_set, has_strings, token_column
from .items import check_width, string_names, string_symbols
from .options import as_names, check_item_settings
from .tokens import STRING_ATTRS, check_annotation

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

#: Labels, in lower case, of tokens that may lack a head: ``Span.as_doc`` gives "dep" to tokens whose head is outside
#: the span.
HEADLESS = frozenset({"", "dep", "root"})


@graft_features("spacy_graft.HeadModifiers.v1")
@dataclass(frozen=True)
class HeadModifiers:
    """Arcs of the dependency tree: an item for each token that has a head, unless one of the two is white space.

    Parameters
    ----------
    head : list of str
        Attributes of the head: any that has strings (``LEMMA``, ``POS``, ``ENT_TYPE``...), or ``_.`` and the name of a
        token extension. It may be empty.
    modifier : list of str
        Attributes of the token, in the same way.
    relation : bool
        Whether the dependency label of the token is part of the item.
    value : {"binary", "log_count", "tf_idf"}
        How the value of an item in a document is computed. All values are in [0, 1], and ``binary`` ones are 1.
    min_df : int
        Least number of documents of an item.
    penalty_factor : float
        Factor of the penalty weights of these items: above 1, features of other blocks are preferred.

    Raises
    ------
    ValueError
        If neither ``head`` nor ``modifier`` names an attribute, one of them does not exist or has no strings, there
        is no such value, ``min_df`` is less than 1, or ``penalty_factor`` is not above 0.
    """

    head: Sequence[str] = ("LEMMA",)
    modifier: Sequence[str] = ("LEMMA",)
    relation: bool = True
    value: ItemValue = "binary"
    min_df: int = 2
    penalty_factor: float = 1.0

    kind: ClassVar[BlockKind] = BlockKind.ITEMS
    feature_kind: ClassVar[str] = "head–modifier"
    dtype: ClassVar[type[np.unsignedinteger]] = np.uint64

    def __post_init__(self) -> None:
        for option in ("head", "modifier"):
            object.__setattr__(self, option, as_names("HeadModifiers", option, getattr(self, option)))
        check_item_settings(self)
        check_flags("HeadModifiers", relation=self.relation)
        if not self._attributes:
            raise ValueError(
                "HeadModifiers: head and modifier are both empty. Name an attribute of one of them, as "
                'modifier=["LEMMA"]. For dependency labels alone, use TokenAttributes(attr="DEP").'
            )
        for attr in self._attributes:
            check_column("HeadModifiers", attr)
            if not has_strings(attr):
                raise ValueError(
                    f"HeadModifiers: the values of {attr!r} are integers, but must be strings. Choose one of "
                    f"{', '.join(sorted(STRING_ATTRS))}, or a token extension, as '_.topic'."
                )

    @property
    def width(self) -> int:
        """Symbols of an item: attributes of the head, the relation, attributes of the modifier."""
        return len(self._attributes) + self.relation

    @property
    def _attributes(self) -> tuple[str, ...]:
        return (*self.head, *self.modifier)

    @property
    def _owner(self) -> str:
        return f"HeadModifiers(head={list(self.head)}, modifier={list(self.modifier)})"

    def check(self, doc: Doc) -> None:
        """Raise a ValueError if the document has no dependency trees, or one of the attributes is not set."""
        check_trees(self._owner, doc)
        for attr in self._attributes:
            check_column_set(self._owner, attr, doc)

    def symbols(self, doc: Doc) -> np.ndarray:
        """Return the attributes of both ends of each arc: uint64 (n_occurrences, width), 0 for one without value."""
        heads, modifiers = arc_ends(doc)
        columns = {attr: token_column(self._owner, attr, doc) for attr in self._attributes}
        rows = [columns[attr][heads] for attr in self.head]
        if self.relation:
            rows.append(doc.to_array("DEP")[modifiers])
        rows += [columns[attr][modifiers] for attr in self.modifier]
        return np.stack(rows, axis=1)

    def places(self, doc: Doc) -> np.ndarray:
        """Return head and modifier of each row: int32 (n_occurrences, 2, 2)."""
        tokens = np.stack(arc_ends(doc), axis=1).astype(np.int32)
        return np.stack((tokens, tokens + 1), axis=2)

    def names(self, symbols: np.ndarray, strings: StringStore) -> tuple[str, ...]:
        """Return the string of each symbol."""
        return string_names(symbols, strings)

    def values(self, names: Sequence[str], strings: StringStore) -> np.ndarray:
        """Return the symbols of names, which are added to ``strings``: uint64, 1-D.

        Raises
        ------
        ValueError
            If the names are not those of whole items.
        """
        check_width(self, names)
        return string_symbols(names, strings)

    def text(self, names: Sequence[str]) -> str:
        """Return the arc from its head: ``head.LEMMA/POS=film/NOUN amod modifier.LEMMA/POS=dull/ADJ``.

        ``_`` stands for an attribute without a value, as in CoNLL-U.
        """
        shown = [name or "_" for name in names]
        parts = shown[len(self.head) : len(self.head) + self.relation]
        if self.head:
            parts.insert(0, f"head.{'/'.join(self.head)}={'/'.join(shown[: len(self.head)])}")
        if self.modifier:
            parts.append(f"modifier.{'/'.join(self.modifier)}={'/'.join(shown[-len(self.modifier) :])}")
        return " ".join(parts)


def arc_ends(doc: Doc) -> tuple[np.ndarray, np.ndarray]:
    """Return the head and the modifier of each arc, in the order of the modifiers: int64 (n_arcs), both."""
    heads = head_positions(doc)
    words = doc.to_array("IS_SPACE") == 0
    modifiers = np.flatnonzero((heads != np.arange(len(doc))) & words & words[heads])
    return heads[modifiers], modifiers


def head_positions(doc: Doc) -> np.ndarray:
    """Return the position of each token's head: int64 (n_tokens). A root is its own head.

    As in ``Token.head``, a token without a dependency label has no head, whatever its HEAD is.
    """
    relative, labels = doc.to_array(["HEAD", "DEP"]).view(np.int64).T
    return np.arange(len(doc)) + np.where(labels == 0, 0, relative)


def check_trees(owner: str, doc: Doc) -> None:
    """Raise a ValueError if heads or labels are missing, or tokens are the heads of each other.

    spaCy rejects heads outside the document, and heads without labels in the constructor of ``Doc``. It accepts heads
    without labels in ``Token.head`` and ``Doc.from_array``, labels without heads, and cycles.
    """
    if not doc.has_annotation("DEP") and doc.to_array("HEAD").any():
        raise ValueError(
            f"{owner} needs documents with heads and dependency labels, but this one has heads only: "
            f"{doc[:10].text!r}. In spaCy, a token without a label has no head. Set Token.dep_ of every token, to "
            f"'dep' if there are no labels."
        )
    check_annotation(owner, "DEP", doc)
    heads = head_positions(doc)
    roots = heads == np.arange(len(doc))
    if len(doc) > 1 and roots.all():
        check_headless(owner, doc)
    check_acyclic(owner, heads, doc)


def check_headless(owner: str, doc: Doc) -> None:
    """Raise a ValueError if a token of a document without any arc has the label of a modifier."""
    for token in doc:
        if token.dep_.lower() not in HEADLESS and not token.is_space:
            raise ValueError(
                f"{owner} needs documents with heads and dependency labels, but this one has labels only: "
                f"{doc[:10].text!r}, where token {token.i} ({token.text!r}) is {token.dep_!r} of itself. Set heads as "
                f"well, as Doc(vocab, words, heads=..., deps=...)."
            )


def check_acyclic(owner: str, heads: np.ndarray, doc: Doc) -> None:
    """Raise a ValueError if following the heads does not lead to a root.

    Each step doubles the distance to the ancestors, so that the number of steps is logarithmic.
    """
    ancestors = heads
    for _ in range(len(heads).bit_length()):
        ancestors = ancestors[ancestors]
    cyclic = ancestors[heads[ancestors] != ancestors]
    if not len(cyclic):
        return
    cycle = [int(cyclic[0])]
    while (head := int(heads[cycle[-1]])) != cycle[0]:
        cycle.append(head)
    named = " → ".join(f"{doc[i].text!r} ({i})" for i in cycle[:10])
    raise ValueError(
        f"{owner}: the heads of {len(cycle)} tokens form a cycle, {named}{' → ...' * (len(cycle) > 10)}, in the "
        f"document {doc[:10].text!r}. Every token must lead to a root, which is its own head. Correct the heads, or "
        f"let a parser set them."
    )
