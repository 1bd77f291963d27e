"""Which features go with which labels, and not by chance: ``significance``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.strings import StringStore
from spacy.tokens import Doc

from ..associations import (
    CALLED,
    SignificanceOptions,
    SignificanceReport,
    SignificantFeature,
    first_place,
    significant_features,
    text_around,
)
from ..explain.evidence import character_spans
from ..extract.batches import joined_streams
from ..extract.blocks import ReadingBlock, is_item_block, is_reading_block, usual_min_df
from ..graft.data import TrainingData
from ..graft.memory import require_memory_of_test
from ..pipeline.annotation import documents_before, words_added
from ..pipeline.components import graft_component
from ..pipeline.corpus import DocPair, fields_of_blocks
from ..pipeline.labelled import LabelledDocuments
from ..pipeline.progress import progress_bar
from ..pipeline.targets import check_cats, is_complete, sum_to_one

__all__ = ["SignificanceReport", "SignificantFeature", "significance"]


def significance(
    nlp: Language,
    examples: LabelledDocuments,
    *,
    strata: Sequence[Hashable] | None = None,
    level: float = 0.05,
    permutations: int = 1000,
    top: int = 100,
    contexts: int = 0,
    seed: int = 0,
    pairs: int | None = None,
    component: str | None = None,
) -> SignificanceReport:
    r"""Test which features of the component's blocks go with which labels: all n-grams and items, at once.

    The null hypothesis is that labels do not depend on the text, in each stratum. Labels are permuted between the
    documents of a stratum, all features are tested in each permutation, and the largest statistic of each permutation
    gives p-values that hold for all features together, however these overlap (Westfall & Young 1993).
    Example weights are not used: a document is a document.

    Memory: the index of the training (see :func:`estimate_memory`), and 12 bytes a node and label. With pairs, 4 bytes
    a document of each.

    Parameters
    ----------
    nlp : Language
        A pipeline with a graft component, trained or not, whose blocks say what is tested. The components before it
        annotate the documents; they must be trained.
    examples : iterable of Example, or of (text, labels)
        Annotated in ``doc.cats``, as in training; all labels there are tested, those that the component does not have
        too. Not held in memory, unless there are contexts.
    strata : sequence of hashable, optional
        For each example what it must be compared within: its author, source or year.
    level : float
        Error rate between 0 and 1: of a single false statement, and of false discoveries under each label.
    permutations : int
        p-values are at least 1 / (permutations + 1).
    top : int
        Number of features to list for each label.
    contexts : int
        Number of documents to show each listed feature in.
    seed : int
        Of the random permutations.
    pairs : int, optional
        Also test all products of two items (words, single symbols of other blocks of n-grams, items) that at least this
        many documents have. Those of the blocks that a block of combinations names, if there is one; otherwise of all.
        A pair is reported only if its \|z\| is larger than those of both items.
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
    options = SignificanceOptions(
        level=level, permutations=permutations, top=top, contexts=contexts, seed=seed, pairs=pairs
    )
    graft = graft_component(nlp, component)
    blocks = {name: block for name, block in graft.blocks.items() if is_reading_block(block)}
    if not blocks:
        raise ValueError(f"[{graft.name}] has no block of n-grams or items to test.")
    annotations, docs = Annotations(graft.exclusive), ReadDocs(blocks, nlp.vocab.strings, keep=contexts > 0)
    read = words_added(documents_before(nlp, graft, examples), blocks, nlp.vocab)
    streams = joined_streams(blocks, docs.of(read, annotations))

    @contextmanager
    def shown(total: int) -> Iterator[Callable[[int], None]]:
        with progress_bar(graft.name) as progress:
            yield partial(progress.advance, progress.add_task("permutations", total=total))

    # Words of one document would raise the threshold for all others.
    min_df = {name: usual_min_df(block) for name, block in graft.blocks.items()}
    data = TrainingData(**fields_of_blocks(graft.blocks, streams, min_df), **annotations.fields())
    return significant_features(data, strata, docs, options, shown)


class Annotations:
    """Values of labels that are found one document after the other.

    Parameters
    ----------
    exclusive : bool
        Whether a document has none of the labels that are not in its ``cats``, if these sum to 1. Otherwise they are
        unknown, unless the document is complete.
    """

    def __init__(self, exclusive: bool) -> None:
        self.exclusive = exclusive
        self.labels: dict[str, int] = {}
        self.n_documents = 0
        self._complete: list[int] = []
        self._documents: list[int] = []
        self._columns: list[int] = []
        self._values: list[float] = []

    def add(self, doc: Doc) -> None:
        """Add the annotation of the next document; a ValueError if it is invalid."""
        check_cats(CALLED, self.n_documents + 1, doc, exclusive=False)
        is_distribution = self.exclusive and sum_to_one(doc.cats.values())
        # Divided as in training.
        total = sum(doc.cats.values()) if is_distribution else 1.0
        for label, value in doc.cats.items():
            self._documents.append(self.n_documents)
            self._columns.append(self.labels.setdefault(label, len(self.labels)))
            self._values.append(float(value) / total)
        if is_complete(doc) or is_distribution:
            self._complete.append(self.n_documents)
        self.n_documents += 1

    def fields(self) -> dict[str, Any]:
        """The fields of :class:`TrainingData` that follow from annotations; values of unknown labels are 0."""
        require_memory_of_test(self.n_documents, len(self.labels))
        targets = np.zeros((self.n_documents, len(self.labels)))
        known = np.zeros(targets.shape, np.bool_)
        targets[self._documents, self._columns] = self._values
        known[self._documents, self._columns] = True
        known[self._complete] = True
        ones = np.ones(self.n_documents)
        return {
            "targets": targets,
            "known": known,
            "example_weights": ones,
            "lengths": ones,
            "labels": tuple(self.labels),
            "exclusive": False,
        }


class ReadDocs:
    """Names of the features of documents, which are kept only if their texts are to be shown.

    Parameters
    ----------
    blocks : dict of str to block
    strings : StringStore
        Of the documents.
    keep : bool
    """

    def __init__(self, blocks: Mapping[str, ReadingBlock], strings: StringStore, keep: bool) -> None:
        self.blocks = blocks
        self.strings = strings
        self.keep = keep
        self.docs: list[Doc] = []

    def of(self, examples: Iterable[DocPair], annotations: Annotations) -> Iterator[Doc]:
        """Yield the documents of examples, whose annotations are added."""
        for example in examples:
            annotations.add(example.reference)
            if self.keep:
                self.docs.append(example.predicted)
            yield example.predicted

    def kind(self, block: str) -> str:
        return self.blocks[block].feature_kind

    def text(self, block: str, symbols: np.ndarray) -> str:
        return self.blocks[block].text(self.blocks[block].names(symbols, self.strings))

    def context(self, document: int, block: str, symbols: np.ndarray) -> str:
        reader, doc = self.blocks[block], self.docs[document]
        own, spans = reader.symbols(doc), character_spans(reader, doc)
        if is_item_block(reader):
            # There are no places of an item of the whole document.
            places = spans[(own == symbols).all(axis=1)][0]
        else:
            places = first_place(own, spans[:, 0], symbols)
        return text_around(doc.text, places)
