"""Which columns are features under constraints on their names.

Names that have the same training documents are one feature. A pattern without a block denies the column in all blocks
if one of its names matches: it does not come back by another name. A pattern of one block denies it there: it may go by
its name in another block. A column with a name that an allow pattern matches goes by this name, whatever its others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, chain, product
from typing import NamedTuple

import numpy as np

from ..index.items import ItemIndex
from ..index.ngrams import NgramIndex
from ..messages import listed, most_like, warn
from .constraints import Constraints, FeatureNames, Pattern
from .emptiness import NothingToLearnError
from .problems import Problems

Index = NgramIndex | ItemIndex
#: Nodes that are named at a time.
NAMED_AT_ONCE = 1 << 16
#: Features of each block, by falling document frequency, among which the nearest name is looked for; patterns that a
#: message has nearest names of.
MOST_NEAR, MOST_EXPLAINED = 20_000, 3


@dataclass(frozen=True)
class LockedPairs:
    """Pairs of a feature and a trained label whose weights are not trained.

    Attributes
    ----------
    blocks, nodes : int64 (pairs)
        Where they are: the number of the part, and the node there.
    labels : int64, weights : float64 (pairs)
    """

    blocks: np.ndarray
    nodes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.nodes)


class Lock(NamedTuple):
    """A locked weight: the block, the node and the length of the n-gram, the trained label, and the weight."""

    block: str
    node: int
    length: int
    label: int
    weight: float


class JoinedTexts:
    """Texts, and all of them in one, so that most are turned away without being looked at."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.joined = "\0".join(texts)
        self.starts = list(accumulate((len(text) + 1 for text in texts), initial=0))

    def holding(self, part: str) -> Iterator[int]:
        """Yield the numbers of the texts that have a string in them."""
        if not part:
            yield from range(len(self.texts))
            return
        place = self.joined.find(part)
        while place >= 0:
            number = bisect_right(self.starts, place) - 1
            yield number
            place = self.joined.find(part, self.starts[number + 1])


@dataclass
class NamedNodes:
    """What the constraints say of the names of an index.

    Attributes
    ----------
    everywhere, here, exempt : bool (n_nodes)
        Denied by a pattern of all blocks, by one of this block; and matched by an allow pattern.
    nodes : dict of str to list of (int, int)
        The nodes of names that are looked for, and the lengths of these n-grams. Several may have the same name.
    """

    everywhere: np.ndarray
    here: np.ndarray
    exempt: np.ndarray
    nodes: dict[str, list[tuple[int, int]]]

    @property
    def denied(self) -> np.ndarray:
        """Which names are denied: bool (n_nodes)."""
        return (self.everywhere | self.here) & ~self.exempt


class Steering:
    """The constraints on the names of a corpus's features.

    ``indexes`` are by block.

    Attributes
    ----------
    columns : list of bool (n_nodes)
        Of each index, which nodes are features: each column once.
    named : dict of str to NamedNodes
    taken : int64
        Keys of the columns that products must not have: those of other features, and those that are denied.
    """

    def __init__(self, constraints: Constraints, names: FeatureNames, indexes: Mapping[str, Index]) -> None:
        self.constraints = constraints
        self.names = names
        self._indexes = indexes
        self._matched: set[str] = set()
        self.named = {name: self._read(name, index) for name, index in indexes.items()}
        keys = {name: index.column_keys() for name, index in indexes.items()}
        #: Keys of the columns that an allow pattern admits, and of those that no block may have.
        self._admitted = self._keys(keys, "exempt")
        self._denied = np.setdiff1d(self._keys(keys, "everywhere"), self._admitted)
        self.columns = [self._features(name, index, keys[name]) for name, index in indexes.items()]
        self.taken = np.concatenate(
            [self._denied, *(keys[name][mask] for name, mask in zip(keys, self.columns, strict=True))]
        )

    def _read(self, block: str, index: Index) -> NamedNodes:
        """Match all names of an index."""
        none = np.zeros(index.n_nodes, np.bool_)
        named = NamedNodes(none, none.copy(), none.copy(), {})
        # Those of products as well: a name may have their sign in it.
        denied = [pattern for pattern in self.constraints.denied if pattern.is_of(block)]
        tables = [
            ([pattern for pattern in denied if pattern.block is None], named.everywhere),
            ([pattern for pattern in denied if pattern.block is not None], named.here),
            ([pattern for pattern in self.constraints.allowed if pattern.is_of(block)], named.exempt),
        ]
        locks = [lock for name, _, _ in self.constraints.locks if (lock := Pattern(name)).is_of(block)]
        exact = [
            (pattern.text, pattern.literal, hits)
            for patterns, hits in tables for pattern in patterns if pattern.literal is not None
        ]  # fmt: skip
        own = {literal for _, literal, _ in exact} | {lock.name for lock in locks}
        products = chain.from_iterable(pattern.members for pattern in self.constraints.denied)
        wanted = own.union(self.names.wanted.get(block, ()), products)
        for begin, texts in self._texts(block, index, np.arange(index.n_nodes)):
            joined = JoinedTexts(texts)
            for patterns, hits in tables:
                self._match(patterns, joined, hits[begin : begin + len(texts)])
            for k, text in enumerate(texts) if wanted else ():
                if text in wanted:
                    named.nodes.setdefault(text, []).append((begin + k, length_of(index, begin + k)))
        if isinstance(index, NgramIndex):
            # Two n-grams have one name only if there is a space in it, which may be between words or in one.
            sought = {name for name in own if name not in named.nodes or " " in name}
            for text, node, length in self._inside(block, index, sought):
                named.nodes.setdefault(text, []).append((node, length))
        for text, literal, hits in exact:
            for node, _ in named.nodes.get(literal, ()):
                hits[node] = True
                self._matched.add(text)
        self._matched.update(lock.text for lock in locks if lock.name in named.nodes)
        return named

    def _texts(self, block: str, index: Index, nodes: np.ndarray) -> Iterator[tuple[int, list[str]]]:
        """Yield the names of nodes in pieces, each with the place of its first."""
        for begin in range(0, len(nodes), NAMED_AT_ONCE):
            yield begin, self.names.texts(block, index.ngrams(nodes[begin : begin + NAMED_AT_ONCE]))

    def _inside(self, block: str, index: NgramIndex, names: set[str]) -> Iterator[tuple[str, int, int]]:
        """Yield the names of n-grams that are not the shortest of their nodes, the nodes, and their lengths.

        In characters or in words: others have names from which their number of symbols does not follow.
        """
        # Words may have spaces in them.
        most_words = max((name.count(" ") + 1 for name in names), default=0)
        for length in sorted({len(name) for name in names} | set(range(1, most_words + 1))):
            nodes = np.flatnonzero((index.shortest < length) & (index.longest >= length))
            for begin in range(0, len(nodes), NAMED_AT_ONCE):
                some = nodes[begin : begin + NAMED_AT_ONCE]
                texts = self.names.texts(block, index.prefixes(some, np.full(len(some), length)))
                yield from ((text, int(some[k]), length) for k, text in enumerate(texts) if text in names)

    def _match(self, patterns: list[Pattern], texts: JoinedTexts, hits: np.ndarray) -> None:
        """Set the hits (bool) of names that match one of the patterns with wildcards."""
        for pattern in patterns:
            if pattern.literal is None:
                found = [k for k in texts.holding(pattern.longest_part) if pattern.matches(texts.texts[k])]
                hits[found] = True
                if found:
                    self._matched.add(pattern.text)

    def _keys(self, keys: Mapping[str, np.ndarray], of: str) -> np.ndarray:
        """The keys of the columns of all blocks with a name that something is true of."""
        return np.concatenate(
            [np.empty(0, np.int64), *(keys[name][getattr(named, of)] for name, named in self.named.items())]
        )

    def _features(self, name: str, index: Index, keys: np.ndarray) -> np.ndarray:
        """Which nodes of an index are features by their names, of equal columns one: bool (n_nodes)."""
        named = self.named[name]
        features = index.distinct & ~self._denied_nodes(name, keys)
        # A column by whose name it is not admitted goes by one by which it is: the shortest.
        other = np.flatnonzero(named.exempt & ~np.isin(keys, keys[features]))
        order = other[np.lexsort((other, index.shortest[other]))] if isinstance(index, NgramIndex) else other
        features[order[np.unique(keys[order], return_index=True)[1]]] = True
        return features

    def _denied_nodes(self, name: str, keys: np.ndarray) -> np.ndarray:
        """Which nodes of an index are denied, by their own name or by another of their column: bool (n_nodes)."""
        named = self.named[name]
        denied_here = np.setdiff1d(keys[named.here], keys[named.exempt])
        return np.asarray(named.denied | np.isin(keys, self._denied) | np.isin(keys, denied_here))

    def denied_names(self, block: str, index: ItemIndex) -> np.ndarray:
        """Which nodes have a denied name, whatever the others of their columns: bool (n_nodes)."""
        return self._read(block, index).denied

    def lengths(self, name: str) -> dict[int, int]:
        """The lengths of n-grams that are allowed where the shortest of their nodes is not, by node."""
        named, lengths = self.named[name], dict[int, int]()
        literals = [pattern.literal for pattern in self.constraints.allowed if pattern.is_of(name)]
        found = chain.from_iterable(named.nodes.get(literal, ()) for literal in literals if literal is not None)
        for node, length in sorted(found):
            lengths.setdefault(node, length)
        return {node: length for node, length in lengths.items() if length != length_of(self._indexes[name], node)}

    def allowed_items(self, block: str, index: ItemIndex) -> np.ndarray:
        """Which items products may have: int64."""
        named, keys = self._read(block, index), index.column_keys()
        gone = named.denied | (np.isin(keys, np.union1d(self._denied, keys[named.denied])) & ~named.exempt)
        return np.flatnonzero(~gone)

    def denied_products(self, items: Mapping[str, ItemIndex]) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield the columns' keys of the items of each denied product; they may be of several blocks."""
        products = [pattern for pattern in self.constraints.denied if pattern.is_product]
        named = {block: self._read(block, index) for block, index in items.items()} if products else {}
        for pattern in products:
            keys = [
                [items[block].keys[node] for block, of in named.items() for node, _ in of.nodes.get(member, ())]
                for member in pattern.members
            ]
            if all(keys):
                self._matched.add(pattern.text)
                yield from product(*keys)

    def denies_products(self, block: str) -> bool:
        """Whether a block of products is denied as a whole."""
        whole = [pattern.text for pattern in self.constraints.denied if pattern.block == block and pattern.name == "*"]
        if whole:
            self._matched.update(whole)
            self._matched.update(pattern.text for pattern in self.constraints.denied if pattern.is_product)
        return bool(whole)

    def locks(self, problems: Problems, order: list[str]) -> Iterator[Lock]:
        """Yield what is locked; of several blocks that have a name the first in this order."""
        labels = problems.data.labels
        keys = {block: self._indexes[block].column_keys() for block in order} if self.constraints.locks else {}
        denied = {block: self._denied_nodes(block, of_block) for block, of_block in keys.items()}
        names: dict[int, tuple[str, int, int, str]] = {}
        for name, label, weight in self.constraints.locks:
            lock = Pattern(name)
            found = [block for block in order if lock.is_of(block) and lock.name in self.named[block].nodes]
            if not found:
                continue
            trained = problems.trained_label(labels.index(label))
            if trained is None:
                warn(
                    f"Constraints: No weights of {label!r} are trained, and its weight of {name!r} is not locked. Give "
                    f"documents that have the label, and documents that do not."
                )
                continue
            node, length = self.named[found[0]].nodes[lock.name][0]
            if denied[found[0]][node]:
                raise NothingToLearnError(
                    f"Constraints: the weight of {name!r} is locked, but it is denied in its block {found[0]!r}, by "
                    f"this name or by another one of the same training documents. Add it to allow, or remove the lock."
                )
            # A node is n-grams of several lengths.
            *first, first_name = names.setdefault(int(keys[found[0]][node]), (found[0], node, length, name))
            if first != [found[0], node, length]:
                raise NothingToLearnError(
                    f"Constraints: weights of {first_name!r} and {name!r} are locked, but they have the same training "
                    f"documents and are one feature. Lock them by one of these names."
                )
            yield Lock(found[0], node, length, trained[0], trained[1] * weight)

    def check_matches(self, n_documents: int, blocks: frozenset[str]) -> None:
        """Warn of patterns that match nothing; raise a ValueError if they must match."""
        missing = [
            text for text in self.constraints.names if text not in self._matched and self._is_known(text, blocks)
        ]
        if not missing:
            return
        required = [text for text in missing if text in self.names.required]
        named = required or missing
        message = (
            f"No feature of the {n_documents:,} training documents is named {listed(named)}. "
            f"{''.join(map(self._nearest, named[:MOST_EXPLAINED]))}Names are those that features() lists, of as many "
            f"documents as min_df asks for."
        )
        if required:
            raise ValueError(f"Constraints: {message}")
        warn(f"Constraints: {message}")

    def _is_known(self, text: str, blocks: frozenset[str]) -> bool:
        """Whether a pattern is of blocks that this fit has: optional ones may have been left out."""
        block = Pattern(text).block
        return block is None or block in blocks

    def _nearest(self, text: str) -> str:
        """A sentence with the names that are most like a pattern."""
        pattern = Pattern(text)
        bare = "".join(character for character in pattern.name if character not in "*?[]")
        names: list[str] = []
        for block, index in self._indexes.items():
            if pattern.is_of(block):
                frequent = np.argsort(-index.df, kind="stable")[:MOST_NEAR]
                names += chain.from_iterable(texts for _, texts in self._texts(block, index, frequent))
        near = most_like(bare, names, 3)
        return f"Most like {text!r}: {listed(near)}. " if near else ""


def length_of(index: Index, node: int) -> int:
    """Symbols of the n-gram that names a node; 1 for an item."""
    return int(index.shortest[node]) if isinstance(index, NgramIndex) else 1
