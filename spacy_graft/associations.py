"""Which features go with which labels, and not by chance: the test of a corpus that has been read, whatever read it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from .graft.constraints import PRODUCT_SIGN
from .graft.data import TrainingData
from .graft.indexing import Index, index_of, item_index_of
from .graft.space import distinct_columns
from .index.items import ItemIndex
from .matrices import numbered_groups
from .messages import listed, one_line, warn
from .options import check_counts, is_count, is_number_in
from .permutation.contrasts import Contrast
from .permutation.kernels import TIE
from .permutation.permutations import ColumnStatistics, PermutationTest, permutation_test, statistics
from .search.pairs import pair_index

#: Characters of the text on each side of a feature in its context.
CONTEXT_WIDTH = 30
#: The block that pairs are of in reports, and the kind of feature that they are.
PAIRS, PAIR_KIND = "pairs", "combination"
#: The owner of the options, for messages.
CALLED = "significance"


@dataclass(frozen=True)
class SignificantFeature:
    """A feature that goes with a label.

    Attributes
    ----------
    text : str
        The feature: the shortest n-gram with its documents.
    longest : str
        The longest n-gram with the same documents.
    block, kind : str
        Name of the block, and "token n-gram", for example.
    label : str
    z : float
        How many standard deviations (under permutations) more documents of the label have the feature than others do;
        below 0: fewer.
    p : float
        Probability of a |z| as large by chance, for this feature alone.
    p_adjusted : float
        Probability that any feature and label have a |z| as large by chance.
    fdr : float
        Estimated rate of false discoveries among the features of this label with a |z| as large.
    df : int
        Number of documents that have the feature, of those whose label is known.
    df_of_label : int
        Number of these that have the label (value of at least 0.5).
    contexts : tuple of str
        The feature in some of these documents: of the label, if z is above 0, else of others.
    """

    text: str
    longest: str
    block: str
    kind: str
    label: str
    z: float
    p: float
    p_adjusted: float
    fdr: float
    df: int
    df_of_label: int
    contexts: tuple[str, ...]


@dataclass(frozen=True)
class SignificanceReport:
    """Result of a permutation test over a whole feature space.

    Attributes
    ----------
    n_documents, n_tested, n_permutations : int
        Documents; pairs of a feature and a label; permutations.
    labels : dict of str to int
        Number of documents by label.
    level : float
    threshold : float
        The |z| from which on ``p_adjusted`` is at most ``level``.
    n_significant : dict of str to int
        By label, the features whose ``p_adjusted`` is at most ``level``.
    n_discoveries : dict of str to int
        By label, the features whose ``fdr`` is at most ``level``. The rate is that of each label, not of all together.
    features : list of SignificantFeature
        Those with ``fdr`` of at most ``level``, label by label by falling |z|, at most as many as asked for.
    """

    n_documents: int
    n_tested: int
    n_permutations: int
    labels: dict[str, int]
    level: float
    threshold: float
    n_significant: dict[str, int]
    n_discoveries: dict[str, int]
    features: list[SignificantFeature]


@dataclass(frozen=True, kw_only=True)
class SignificanceOptions:
    """Options of a test, checked.

    Attributes
    ----------
    level : float
        Error rate between 0 and 1: of a single false statement, and of false discoveries under each label.
    permutations : int
    top : int
        Number of features to list for each label.
    contexts : int
        Number of documents to show each listed feature in.
    seed : int
    pairs : int, optional
        Least number of documents of a pair of items; None: pairs are not tested.
    """

    level: float
    permutations: int
    top: int
    contexts: int
    seed: int
    pairs: int | None = None

    def __post_init__(self) -> None:
        check_counts(CALLED, permutations=self.permutations, top=self.top)
        check_counts(CALLED, least=0, contexts=self.contexts, seed=self.seed)
        if self.pairs is not None and not is_count(self.pairs):
            raise ValueError(
                f"{CALLED}: pairs must be a number of documents, at least 1, or None, but is {self.pairs!r}."
            )
        if not is_number_in(self.level, 0.0, 1.0) or self.level in (0.0, 1.0):
            raise ValueError(f"{CALLED}: level must be a number between 0 and 1, but is {self.level!r}.")
        least_p = 1 / (self.permutations + 1)
        if least_p > self.level:
            raise ValueError(
                f"{CALLED}: with {self.permutations:,} permutations no p-value is under {least_p:.2g}, but the level "
                f"is {self.level:g}. It takes at least {int(np.ceil(1 / self.level)) - 1:,} permutations."
            )


class Naming(Protocol):
    """Names of features, by block and symbols, and where documents have them."""

    def kind(self, block: str) -> str:
        """Display name of the kind of a block's features."""

    def text(self, block: str, symbols: np.ndarray) -> str:
        """Text of a feature."""

    def context(self, document: int, block: str, symbols: np.ndarray) -> str:
        """The first place of a feature in a document that has it, with the text on both sides."""


#: From the number of permutations and labels to what shows how many of them are done.
Shown = Callable[[int], AbstractContextManager[Callable[[int], None]]]


def significant_features(
    data: TrainingData,
    strata: Sequence[Hashable] | None,
    naming: Naming,
    options: SignificanceOptions,
    shown: Shown = lambda total: nullcontext(lambda n: None),
) -> SignificanceReport:
    """Test all n-grams and items of a corpus.

    Parameters
    ----------
    data : TrainingData
        Example weights are not used.
    strata : sequence of hashable, optional
        For each document what it must be compared within.
    naming : Naming
    options : SignificanceOptions
    shown : callable

    Raises
    ------
    ValueError
        If there are too few documents, a label is that of all or no documents in every stratum, or strata are not as
        many as documents.
    """
    n, n_labels = data.targets.shape
    if n < max(n_labels, 2) or not n_labels:
        raise ValueError(
            f"{CALLED}: there are {n:,} documents and {n_labels:,} labels. A test needs a label, and no "
            f"fewer documents than labels."
        )
    corpus = TestedCorpus(data, *numbered_groups(strata, n, "strata", "document"))
    contrasts = corpus.contrasts()
    blocks = [name for name in data.min_df if name not in data.combinations]
    spaces = [TestedSpace(name, index_of(data, name, data.min_df[name])) for name in blocks]
    factors = [data.penalty_factors[space.block] for space in spaces]
    if options.pairs is not None:
        spaces.append(pairs_of(data, options.pairs))
        # The column of an n-gram or item is no pair.
        factors.append(np.inf)
    indexes = [space.index for space in spaces]
    tested = distinct_columns(indexes, factors, np.empty(0, np.int64))

    def leave_out(contrast: Contrast, columns: list[ColumnStatistics]) -> None:
        for space, column in zip(spaces, columns, strict=True):
            space.leave_out_inherited(contrast, column.z)

    with shown(len(contrasts) * options.permutations) as advance:
        test = permutation_test(
            indexes, tested, contrasts, options.permutations, options.seed, advance, corpus.has_two_sides, leave_out
        )
    return Findings(corpus, spaces, test, naming).report(options)


@dataclass(frozen=True)
class TestedSpace:
    """The features of a block, or the pairs of some blocks.

    Attributes
    ----------
    block : str
        Its name; :data:`PAIRS` of pairs.
    index : NgramIndex or ItemIndex
        Of pairs, the symbols are two numbers of ``items``.
    items : ItemIndex, optional
        Of pairs: what they are products of.
    names : sequence of tuple
        Block and symbols of each item.
    """

    __test__ = False  # Not a test, as pytest takes its name.

    block: str
    index: Index
    items: ItemIndex | None = None
    names: Sequence[tuple[str, np.ndarray]] = ()

    def terms(self, node: int, longest: bool = False) -> list[tuple[str, np.ndarray]]:
        """Block and symbols of a feature, or of both items of a pair."""
        (symbols,) = (self.index.longest_ngrams if longest else self.index.ngrams)([node])
        return [(self.block, symbols)] if self.items is None else [self.names[item] for item in symbols.tolist()]

    def leave_out_inherited(self, contrast: Contrast, z: np.ndarray) -> None:
        """Set z, float64 (nodes), to 0 for pairs that go with a label no more than one of their items does."""
        if self.items is None:
            return
        items = contrast.shifted(self.items)
        of_items = np.abs(statistics(items, contrast, contrast.scales(items, np.ones(items.n_nodes, bool))))
        z[np.abs(z) <= of_items[self.index.symbols].max(axis=1, initial=0.0) * (1.0 + TIE)] = 0.0


def pairs_of(data: TrainingData, min_df: int) -> TestedSpace:
    """The products of two items that at least ``min_df`` documents have.

    Items are those of the blocks that a block of combinations names; without one, of all blocks. Those of a block of
    n-grams are its single symbols.
    """
    of = [name for block in data.combinations.values() for name in block.of] or list(data.min_df)
    indexes = [item_index_of(data, name, max(min_df, data.min_df[name])) for name in of]
    items = ItemIndex.concatenated(indexes, copies=2)
    try:
        index = pair_index(items, min_df)
    except ValueError as error:
        raise ValueError(f"{CALLED}, pairs: {error}") from error
    named = [(of[number], np.atleast_1d(indexes[number].symbols[row])) for number, row in items.symbols.tolist()]
    return TestedSpace(PAIRS, index, items, named)


@dataclass(frozen=True)
class TestedCorpus:
    """The documents of a test.

    Attributes
    ----------
    data : TrainingData
    strata : int64 (documents)
    names : list of hashable
        Of the strata.
    """

    __test__ = False  # Not a test, as pytest takes its name.

    data: TrainingData
    strata: np.ndarray
    names: list[Hashable]

    @cached_property
    def tested_labels(self) -> list[int]:
        """Labels to test: all, but of two that exclude each other the second, whose signs tell both."""
        return [1] if self.has_two_sides else list(range(self.data.targets.shape[1]))

    @cached_property
    def has_two_sides(self) -> bool:
        """Whether there are two labels that exclude each other."""
        targets, known = self.data.targets, self.data.known
        return targets.shape[1] == 2 and bool(known.all() and np.allclose(targets.sum(axis=1), 1.0))

    def contrasts(self) -> list[Contrast]:
        """The tested labels; a ValueError for one that says nothing, a warning for strata that say nothing."""
        found = []
        varies = np.zeros(len(self.names), np.bool_)
        for y in self.tested_labels:
            found.append(Contrast.of(self.data.targets[:, y], self.data.known[:, y], self.strata))
            variances = np.zeros(len(self.names) + 1)
            variances[: found[-1].strata.max() + 1] = found[-1].variances
            if not variances.any():
                where, others = ("", "") if len(self.names) == 1 else (" of every stratum", ", or give other strata")
                raise ValueError(
                    f"{CALLED}: the label {self.data.labels[y]!r} is that of all documents{where}, or of none: there "
                    f"is nothing to compare. Leave the label out{others}."
                )
            varies |= variances[1:] > 0.0
        if not varies.all():
            silent = [self.names[s] for s in np.flatnonzero(~varies)]
            warn(
                f"{CALLED}: {len(silent):,} of {len(varies):,} strata say nothing, since the labels of their "
                f"documents do not differ: {listed(silent)}."
            )
        return found


class Side(NamedTuple):
    """What speaks for a label: all of a tested label's statistics, or those of one sign.

    Attributes
    ----------
    label : str
    statistics : list of ColumnStatistics
        Of the tested label, by index.
    z : float64 (nodes of all indexes)
        With the sign that they have for this label; 0 where they are another side's.
    adjusted, rates : float64 (nodes of all indexes)
        Adjusted p-values, and false discovery rates.
    """

    label: str
    statistics: list[ColumnStatistics]
    z: np.ndarray
    adjusted: np.ndarray
    rates: np.ndarray


@dataclass(frozen=True)
class Findings:
    """A finished test, with the names of what was tested."""

    corpus: TestedCorpus
    spaces: Sequence[TestedSpace]
    test: PermutationTest
    naming: Naming

    def report(self, options: SignificanceOptions) -> SignificanceReport:
        """The report of all labels."""
        data, test, level = self.corpus.data, self.test, options.level
        sides = list(self._sides())
        return SignificanceReport(
            n_documents=len(data.targets),
            n_tested=test.n_tested,
            n_permutations=test.n_permutations,
            labels=dict(zip(data.labels, (data.targets >= 0.5).sum(axis=0).tolist(), strict=True)),
            level=level,
            threshold=test.threshold(level),
            n_significant={side.label: int((side.adjusted <= level).sum()) for side in sides},
            n_discoveries={side.label: int((side.rates <= level).sum()) for side in sides},
            features=[feature for side in sides for feature in self._features(side, options)],
        )

    def _sides(self) -> Iterator[Side]:
        for y, columns in zip(self.corpus.tested_labels, self.test.columns, strict=True):
            z = np.concatenate([column.z for column in columns])
            if self.corpus.has_two_sides:
                yield self._side(0, columns, np.maximum(-z, 0.0))
                z = np.maximum(z, 0.0)
            yield self._side(y, columns, z)

    def _side(self, y: int, statistics: list[ColumnStatistics], z: np.ndarray) -> Side:
        label = self.corpus.data.labels[y]
        return Side(label, statistics, z, self.test.adjusted(z), self.test.false_discovery_rates(z, y))

    def _features(self, side: Side, options: SignificanceOptions) -> Iterator[SignificantFeature]:
        r"""The features of a side that are false discoveries at most at a rate of ``level``, by falling \|z\|."""
        found = np.flatnonzero(side.rates <= options.level)
        best = found[np.argsort(-np.abs(side.z[found]), kind="stable")][: options.top]
        p = self.test.p_values(np.concatenate([column.at_least for column in side.statistics])[best])
        y = self.corpus.data.labels.index(side.label)
        targets, known = self.corpus.data.targets[:, y], self.corpus.data.known[:, y]
        begins = np.cumsum([0, *(space.index.n_nodes for space in self.spaces)])
        numbers = np.searchsorted(begins, best, side="right") - 1
        for row, number, p_value in zip(best.tolist(), numbers.tolist(), p.tolist(), strict=True):
            space, node = self.spaces[number], row - int(begins[number])
            documents = space.index.columns(np.array([node]))[1]
            documents = documents[known[documents]]
            of_label = documents[targets[documents] >= 0.5]
            shown = of_label if side.z[row] > 0.0 else np.setdiff1d(documents, of_label)
            terms = space.terms(node)
            yield SignificantFeature(
                text=self._text(terms),
                longest=self._text(space.terms(node, longest=True)),
                block=space.block,
                kind=self.naming.kind(space.block) if space.items is None else PAIR_KIND,
                label=side.label,
                z=float(side.z[row]),
                p=p_value,
                p_adjusted=float(side.adjusted[row]),
                fdr=float(side.rates[row]),
                df=len(documents),
                df_of_label=len(of_label),
                contexts=tuple(self._context(i, terms) for i in shown[: options.contexts].tolist()),
            )

    def _text(self, terms: Sequence[tuple[str, np.ndarray]]) -> str:
        return PRODUCT_SIGN.join(self.naming.text(*term) for term in terms)

    def _context(self, document: int, terms: Sequence[tuple[str, np.ndarray]]) -> str:
        return " … ".join(self.naming.context(document, *term) for term in terms)


def first_place(symbols: np.ndarray, spans: np.ndarray, feature: np.ndarray) -> np.ndarray:
    """Start and end, in characters, of the symbols of the first n-gram in a document that is a feature: int (n, 2)."""
    windows = np.lib.stride_tricks.sliding_window_view(symbols, len(feature))
    first = np.flatnonzero((windows == feature).all(axis=1))[0]
    return spans[first : first + len(feature)]


def text_around(text: str, places: np.ndarray) -> str:
    """What is at places, int (n, 2), with the text on both sides; the beginning of the text if there are none."""
    if not places.size:
        return one_line(text[: 2 * CONTEXT_WIDTH])
    begin, end = int(places[:, 0].min()), int(places[:, 1].max())
    return one_line(text[max(begin - CONTEXT_WIDTH, 0) : end + CONTEXT_WIDTH])
