"""Which features go with which labels, and not by chance: ``significance``."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.training import Example

from ..explain.evidence import character_spans
from ..extract.batches import joined_streams
from ..extract.blocks import ReadingBlock, is_item_block, is_reading_block
from ..graft.data import TrainingData
from ..graft.indexing import Index, index_of
from ..graft.space import distinct_columns
from ..messages import listed, one_line
from ..options import is_count, is_number_in
from ..permutation.contrasts import Contrast
from ..permutation.permutations import ColumnStatistics, PermutationTest, permutation_test
from ..pipeline.components import graft_component
from ..pipeline.corpus import DocPair, fields_of_blocks
from ..pipeline.fit import progress_bar
from ..pipeline.targets import check_cats
from ..pipeline.training import documents_before

#: Characters of the text on each side of a feature in its context.
CONTEXT_WIDTH = 30
#: Strata that a message names.
NAMED_STRATA = 3
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
        Estimated rate of false discoveries among all features with a |z| as large.
    df : int
        Number of documents that have the feature.
    df_of_label : int
        Number of these that have the label (value of at least 0.5).
    contexts : tuple of str
        The feature in some of the documents.
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
        By label, the features whose ``fdr`` is at most ``level``.
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


def significance(
    nlp: Language,
    examples: Iterable[Example],
    *,
    strata: Sequence[Hashable] | None = None,
    level: float = 0.05,
    permutations: int = 1000,
    top: int = 100,
    contexts: int = 0,
    seed: int = 0,
    component: str | None = None,
) -> SignificanceReport:
    """Test which features of the component's blocks go with which labels: all n-grams and items, at once.

    The null hypothesis is that labels do not depend on the text, in each stratum. Labels are permuted between the
    documents of a stratum, all features are tested in each permutation, and the largest statistic of each permutation
    gives p-values that hold for all features together, however these overlap (Westfall & Young 1993).
    Combinations are not tested. Example weights are not used: a document is a document.

    Memory: the index of the training (see :func:`estimate_memory`), and 12 bytes a node and label.

    Parameters
    ----------
    nlp : Language
        A pipeline with a graft component, trained or not, whose blocks say what is tested. The components before it
        annotate the documents; they must be trained.
    examples : iterable of Example
        Annotated in ``doc.cats``. Not held in memory, unless there are contexts.
    strata : sequence of hashable, optional
        For each example what it must be compared within: its author, source or year.
    level : float
        Error rate between 0 and 1: of a single false statement, and of false discoveries.
    permutations : int
        p-values are at least 1 / (permutations + 1).
    top : int
        Number of features to list for each label.
    contexts : int
        Number of documents to show each listed feature in.
    seed : int
        Of the random permutations.
    component : str, optional
        Name of the graft component; needed if there are several.

    Returns
    -------
    SignificanceReport

    Raises
    ------
    ValueError
        If an option is out of bounds, the component is not found or has no block to test, there are fewer documents
        than labels, a label is that of all or no documents in every stratum, strata are not as many as examples, or
        permutations too few for the level.

    References
    ----------
    Westfall & Young (1993), *Resampling-Based Multiple Testing*. Yekutieli & Benjamini (1999), *Resampling-based false
    discovery rate controlling multiple test procedures for correlated test statistics*.

    Examples
    --------
    >>> report = significance(nlp, train, strata=authors)
    >>> for feature in report.features:
    ...     print(f"{feature.label} {feature.text!r} {feature.z:+.1f} {feature.p_adjusted:.3f}")
    """
    check_options(level, permutations, top, contexts, seed)
    graft = graft_component(nlp, component)
    blocks = {name: block for name, block in graft.blocks.items() if is_reading_block(block)}
    if not blocks:
        raise ValueError(f"[{graft.name}] has no block of n-grams or items to test.")
    corpus = TestedCorpus.read(documents_before(nlp, graft, examples), blocks, strata, keep=contexts > 0)
    contrasts = corpus.contrasts()
    names = list(blocks)
    indexes = [index_of(corpus.data, name, blocks[name].min_df) for name in names]
    tested = distinct_columns(indexes, [blocks[name].penalty_factor for name in names], np.empty(0, np.int64))
    with progress_bar(graft) as progress:
        task = progress.add_task("permutations", total=len(contrasts) * permutations)
        test = permutation_test(indexes, tested, contrasts, permutations, seed, partial(progress.advance, task))
    return Findings(corpus, blocks, indexes, test, nlp.vocab.strings).report(level, top, contexts)


def check_options(level: float, permutations: int, top: int, contexts: int, seed: int) -> None:
    """Raise a ValueError for an option that is out of bounds."""
    counts = {"permutations": (permutations, 1), "top": (top, 1), "contexts": (contexts, 0), "seed": (seed, 0)}
    for name, (value, least) in counts.items():
        if not is_count(value, least):
            raise ValueError(f"{CALLED}: {name} must be an integer of at least {least}, but is {value!r}.")
    if not is_number_in(level, 0.0, 1.0) or level in (0.0, 1.0):
        raise ValueError(f"{CALLED}: level must be a number between 0 and 1, but is {level!r}.")
    if 1 / (permutations + 1) > level:
        raise ValueError(
            f"{CALLED}: with {permutations:,} permutations no p-value is under {1 / (permutations + 1):.2g}, but the "
            f"level is {level:g}. It takes at least {int(np.ceil(1 / level)) - 1:,} permutations."
        )


class Annotations:
    """Values of labels that are found one document after the other."""

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}
        self.n_documents = 0
        self._documents: list[int] = []
        self._columns: list[int] = []
        self._values: list[float] = []

    def add(self, doc: Doc) -> None:
        """Add the annotation of the next document; a ValueError if it is invalid."""
        check_cats(CALLED, self.n_documents + 1, doc, exclusive=False)
        for label, value in doc.cats.items():
            self._documents.append(self.n_documents)
            self._columns.append(self.labels.setdefault(label, len(self.labels)))
            self._values.append(float(value))
        self.n_documents += 1

    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of the labels, 0 where they are unknown (float64), and whether they are known (bool)."""
        targets = np.zeros((self.n_documents, len(self.labels)))
        known = np.zeros(targets.shape, np.bool_)
        targets[self._documents, self._columns] = self._values
        known[self._documents, self._columns] = True
        return targets, known


@dataclass(frozen=True)
class TestedCorpus:
    """The documents of a test.

    Attributes
    ----------
    data : TrainingData
    strata : int64 (documents)
    names : list of hashable
        Of the strata.
    docs : list of Doc
        Empty unless they are kept for contexts.
    """

    __test__ = False  # Not a test, as pytest takes its name.

    data: TrainingData
    strata: np.ndarray
    names: list[Hashable]
    docs: list[Doc]

    @classmethod
    def read(
        cls,
        examples: Iterable[DocPair],
        blocks: Mapping[str, ReadingBlock],
        strata: Sequence[Hashable] | None,
        keep: bool,
    ) -> TestedCorpus:
        """Read annotated examples."""
        annotations = Annotations()
        kept: list[Doc] = []

        def docs() -> Iterator[Doc]:
            for example in examples:
                annotations.add(example.reference)
                if keep:
                    kept.append(example.predicted)
                yield example.predicted

        streams = joined_streams(blocks, docs())
        labels, n = annotations.labels, annotations.n_documents
        if n < max(len(labels), 2) or not labels:
            raise ValueError(
                f"{CALLED}: there are {n:,} documents and {len(labels):,} labels. A test needs a label, and no "
                "fewer documents than labels."
            )
        targets, known = annotations.targets()
        data = TrainingData(
            **fields_of_blocks(blocks, streams),
            targets=targets, known=known, example_weights=np.ones(n), lengths=np.ones(n), labels=tuple(labels),
            exclusive=False,
        )  # fmt: skip
        return cls(data, *numbered(strata, n), kept)

    @cached_property
    def tested_labels(self) -> list[int]:
        """Labels to test: all, but of two that exclude each other the second, whose signs tell both."""
        targets, known = self.data.targets, self.data.known
        if targets.shape[1] == 2 and known.all() and (targets.sum(axis=1) == 1.0).all():
            return [1]
        return list(range(targets.shape[1]))

    def contrasts(self) -> list[Contrast]:
        """The tested labels; a ValueError for one that says nothing, a warning for strata that say nothing."""
        found = []
        varies = np.zeros(len(self.names), np.bool_)
        for y in self.tested_labels:
            found.append(Contrast.of(self.data.targets[:, y], self.data.known[:, y], self.strata))
            variances = np.zeros(len(self.names) + 1)
            variances[: found[-1].strata.max() + 1] = found[-1].variances
            if not variances.any():
                where = "" if len(self.names) == 1 else " of every stratum"
                raise ValueError(
                    f"{CALLED}: the label {self.data.labels[y]!r} is that of all documents{where}, or of none: there "
                    "is nothing to compare."
                )
            varies |= variances[1:] > 0.0
        if not varies.all():
            silent = [self.names[s] for s in np.flatnonzero(~varies)]
            more = ", …" if len(silent) > NAMED_STRATA else ""
            warnings.warn(
                f"{CALLED}: {len(silent):,} of {len(varies):,} strata say nothing, since the labels of their "
                f"documents do not differ: {listed(silent[:NAMED_STRATA])}{more}.",
                stacklevel=3,
            )
        return found


def numbered(strata: Sequence[Hashable] | None, n: int) -> tuple[np.ndarray, list[Hashable]]:
    """Number the strata of n documents from 0: int64 (n), and their names."""
    if strata is None:
        return np.zeros(n, np.int64), [None]
    if len(strata) != n:
        raise ValueError(f"{CALLED}: there are {n:,} documents, but {len(strata):,} strata: give the stratum of each.")
    places: dict[Hashable, int] = {}
    return np.array([places.setdefault(stratum, len(places)) for stratum in strata], np.int64), list(places)


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
    """A finished test, with the names of what was tested.

    Attributes
    ----------
    corpus : TestedCorpus
    blocks : dict of str to block
    indexes : list of NgramIndex or ItemIndex
        By block.
    test : PermutationTest
    strings : StringStore
        Of the documents.
    """

    corpus: TestedCorpus
    blocks: Mapping[str, ReadingBlock]
    indexes: Sequence[Index]
    test: PermutationTest
    strings: StringStore

    def report(self, level: float, top: int, contexts: int) -> SignificanceReport:
        """The report of all labels."""
        data, test = self.corpus.data, self.test
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
            features=[feature for side in sides for feature in self._features(side, level, top, contexts)],
        )

    def _sides(self) -> Iterator[Side]:
        labels = self.corpus.data.labels
        for y, statistics in zip(self.corpus.tested_labels, self.test.columns, strict=True):
            z = np.concatenate([column.z for column in statistics])
            if len(self.corpus.tested_labels) < len(labels):
                yield self._side(labels[0], statistics, np.maximum(-z, 0.0))
                z = np.maximum(z, 0.0)
            yield self._side(labels[y], statistics, z)

    def _side(self, label: str, statistics: list[ColumnStatistics], z: np.ndarray) -> Side:
        return Side(label, statistics, z, self.test.adjusted(z), self.test.false_discovery_rates(z))

    def _features(self, side: Side, level: float, top: int, contexts: int) -> Iterator[SignificantFeature]:
        r"""The features of a side that are false discoveries at most at a rate of ``level``, by falling \|z\|."""
        found = np.flatnonzero(side.rates <= level)
        best = found[np.argsort(-np.abs(side.z[found]), kind="stable")][:top]
        p = self.test.p_values(np.concatenate([column.at_least for column in side.statistics])[best])
        targets = self.corpus.data.targets[:, self.corpus.data.labels.index(side.label)]
        begins = np.cumsum([0, *(index.n_nodes for index in self.indexes)])
        numbers = np.searchsorted(begins, best, side="right") - 1
        for row, number, p_value in zip(best.tolist(), numbers.tolist(), p.tolist(), strict=True):
            (name, block), index = list(self.blocks.items())[number], self.indexes[number]
            node = row - int(begins[number])
            documents = index.columns(np.array([node]))[1]
            of_label = documents[targets[documents] >= 0.5]
            shown = of_label if side.z[row] > 0.0 else np.setdiff1d(documents, of_label)
            (ngram,), (longest,) = index.ngrams([node]), index.longest_ngrams([node])
            yield SignificantFeature(
                text=self._text(block, ngram),
                longest=self._text(block, longest),
                block=name,
                kind=block.feature_kind,
                label=side.label,
                z=float(side.z[row]),
                p=p_value,
                p_adjusted=float(side.adjusted[row]),
                fdr=float(side.rates[row]),
                df=len(documents),
                df_of_label=len(of_label),
                contexts=tuple(context(block, self.corpus.docs[i], ngram) for i in shown[:contexts].tolist()),
            )

    def _text(self, block: ReadingBlock, symbols: np.ndarray) -> str:
        return block.text(block.names(symbols, self.strings))


def context(block: ReadingBlock, doc: Doc, feature: np.ndarray) -> str:
    """The first place of a feature (symbols of an n-gram, or those that name an item) in a document, with its text."""
    symbols, spans = block.symbols(doc), character_spans(block, doc)
    if is_item_block(block):
        places = spans[(symbols == feature).all(axis=1)]
    else:
        windows = np.lib.stride_tricks.sliding_window_view(symbols, len(feature))
        first = np.flatnonzero((windows == feature).all(axis=1))[0]
        places = spans[first : first + len(feature)].reshape(1, -1, 2)
    text = doc.text
    if not places.size:
        # An item of the whole document.
        return one_line(text[: 2 * CONTEXT_WIDTH])
    begin, end = int(places[0, :, 0].min()), int(places[0, :, 1].max())
    return one_line(text[max(begin - CONTEXT_WIDTH, 0) : end + CONTEXT_WIDTH])
