"""Permutation tests: what they cost, whether their error rates hold, and what they find.

python benchmarks/significance.py --data DATA
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from common import DataFolder, measured, pin_threads, print_table, texts_and_labels

if TYPE_CHECKING:
    from spacy_graft.index.ngrams import NgramIndex

SETS = ("movie_reviews", "spooky_authors")
#: Least number of documents of a pair.
PAIRS = 100
#: Documents and labelings of the simulations; words that are planted, and in which share of the documents.
DOCUMENTS, LABELINGS, PLANTED, SHARES = 2000, 1000, 40, (0.02, 0.06)
#: Share of documents with the label, and how much more often they have a planted word.
POSITIVE, RATIO = 0.3, 2.2
#: Permutations of a simulated test, and how many tests have planted words.
PERMUTATIONS, TESTS = 199, 100


def token_lists(data: Path, name: str) -> list[np.ndarray]:
    """Numbers of the words of each training text, from 1 on."""
    from spacy.lang.en import English

    tokenizer, numbers = English().tokenizer, {}
    texts, _ = texts_and_labels(data, name)
    return [
        np.array([numbers.setdefault(token.lower_, len(numbers) + 1) for token in tokenizer(text)], np.uint64)
        for text in texts
    ]


def index_of(documents: list[np.ndarray], min_df: int) -> NgramIndex:
    from spacy_graft.extract.streams import Stream
    from spacy_graft.index.ngrams import NgramIndex

    return NgramIndex.build(Stream.join(documents, np.uint64), min_df)


def test_of(index: NgramIndex, label: np.ndarray, n_permutations: int, seed: int) -> Any:
    from spacy_graft.permutation.contrasts import Contrast
    from spacy_graft.permutation.permutations import permutation_test

    contrast = Contrast.of(label.astype(np.float64), np.ones(len(label), np.bool_), np.zeros(len(label), np.int64))
    return permutation_test([index], [index.distinct], [contrast], n_permutations, seed)


def cost(data: Path, name: str, of: str) -> Iterator[dict[str, Any]]:
    """1,000 permutations beyond the index."""
    from ours import character_stream

    from spacy_graft.index.ngrams import NgramIndex

    texts, labels = texts_and_labels(data, name)
    words = of == "words"
    index = index_of(token_lists(data, name), 5) if words else NgramIndex.build(character_stream(texts), 5)
    label = np.array(labels) == sorted(set(labels))[0]
    test_of(index, label, 8, 0)
    yield {}
    test = test_of(index, label, 1000, 0)
    (column,) = test.columns[0]
    yield {
        "tested": test.n_tested,
        "threshold": test.threshold(0.05),
        "single": int((test.p_values(column.at_least) <= 0.001)[index.distinct].sum()),
        "significant": int((test.adjusted(column.z) <= 0.05).sum()),
        "discoveries": int((test.false_discovery_rates(column.z, 0) <= 0.05).sum()),
    }


def cost_of_pairs(data: Path) -> Iterator[dict[str, Any]]:
    """1,000 permutations with all pairs of words in :data:`PAIRS` documents: reading, indexes and report included."""
    from spacy_graft import GraftTextClassifier

    texts, labels = texts_and_labels(data, SETS[0])
    model = GraftTextClassifier(analyzer=re.compile(r"\w+").findall, min_df=5)
    model.significance(texts[:40] + texts[-40:], labels[:40] + labels[-40:], permutations=19, pairs=40)
    yield {}
    report = model.significance(texts, labels, pairs=PAIRS, top=10_000)
    of_pairs = [feature for feature in report.features if feature.block == "pairs" and feature.p_adjusted <= 0.05]
    yield {"tested": report.n_tested, "threshold": report.threshold, "significant": len(of_pairs)}


def null_labelings(data: Path) -> Iterator[dict[str, Any]]:
    """How often a test of labels without a meaning says anything."""
    rng = np.random.default_rng(1)
    index = index_of(token_lists(data, "spooky_authors")[:DOCUMENTS], 3)
    yield {}
    wrong = discovered = 0
    for seed in range(LABELINGS):
        test = test_of(index, rng.permutation(DOCUMENTS) < POSITIVE * DOCUMENTS, PERMUTATIONS, seed)
        z = test.columns[0][0].z
        wrong += bool((test.adjusted(z) <= 0.05).any())
        discovered += bool((test.false_discovery_rates(z, 0) <= 0.1).any())
    yield {"family-wise": wrong / LABELINGS, "discoveries": discovered / LABELINGS}


def planted_words(data: Path) -> Iterator[dict[str, Any]]:
    """Planted words that are found, and what else is, beside a likelihood-ratio test (Dunning 1993) with Bonferroni."""
    from scipy.stats import chi2

    rng = np.random.default_rng(2)
    documents = token_lists(data, "spooky_authors")[:DOCUMENTS]
    first_planted = 10**6
    yield {}
    found = {"significant": [], "discoveries": [], "likelihood ratio": []}
    false = []
    for seed in range(TESTS):
        label = rng.permutation(DOCUMENTS) < POSITIVE * DOCUMENTS
        shares = rng.uniform(*SHARES, PLANTED)
        has = rng.random((DOCUMENTS, PLANTED)) < shares * np.where(label, RATIO, 1.0)[:, None]
        extra = [np.flatnonzero(row).astype(np.uint64) + np.uint64(first_planted) for row in has]
        index = index_of([np.concatenate(parts) for parts in zip(documents, extra, strict=True)], 3)
        test = test_of(index, label, PERMUTATIONS, seed)
        nodes = np.flatnonzero(index.distinct)
        z = test.columns[0][0].z[nodes]
        with_planted = np.array([(ngram >= first_planted).any() for ngram in index.longest_ngrams(nodes)])
        planted = with_planted & np.array([len(ngram) == 1 for ngram in index.ngrams(nodes)])
        discovered = test.false_discovery_rates(z, 0) <= 0.1
        likelihood = chi2.sf(likelihood_ratios(index, nodes, label), 1) <= 0.05 / len(nodes)
        found["significant"].append((planted & (test.adjusted(z) <= 0.05)).sum() / PLANTED)
        found["discoveries"].append((planted & discovered).sum() / PLANTED)
        found["likelihood ratio"].append((planted & likelihood).sum() / PLANTED)
        false.append((discovered & ~with_planted).sum() / max(discovered.sum(), 1))
    yield {"false": float(np.mean(false)), **{name: float(np.mean(shares)) for name, shares in found.items()}}


def likelihood_ratios(index: NgramIndex, nodes: np.ndarray, label: np.ndarray) -> np.ndarray:
    """G² of the documents with a node's n-gram and with the label: float64 (nodes)."""
    n, df = len(label), index.df[nodes].astype(np.float64)
    both = index.sums(label[:, None].astype(np.float64))[nodes, 0]
    total = np.zeros(len(nodes))
    for has, inside in product((True, False), repeat=2):
        of_row, of_column = df if has else n - df, label.sum() if inside else n - label.sum()
        expected = of_row * of_column / n
        row = both if inside else df - both
        observed = row if has else of_column - row
        with np.errstate(divide="ignore", invalid="ignore"):
            total += np.where(observed > 0.0, observed * np.log(observed / expected), 0.0)
    return 2.0 * total


def main(data: DataFolder) -> None:
    pin_threads()
    rows = []
    for name, of in product(SETS, ("words", "characters")):
        run = measured(cost, data, name, of)
        counts = [f"{run.result[key]:,}" for key in ("single", "significant", "discoveries")]
        rows.append(
            [name, of, f"{run.result['tested']:,}", f"{run.seconds:.1f}", f"{run.result['threshold']:.2f}", *counts]
        )
    header = ["set", "n-grams of", "tested", "CPU s", "|z| at 5%", "p ≤ .001 alone", "adjusted p ≤ .05", "FDR ≤ .05"]
    print_table("1,000 permutations, beyond the index (min_df 5)", header, rows)
    pairs = measured(cost_of_pairs, data)
    print_table(
        f"1,000 permutations of words and their pairs in {PAIRS} documents or more, everything included",
        ["set", "tested", "CPU s", "MB", "|z| at 5%", "pairs with adjusted p ≤ .05"],
        [[SETS[0], f"{pairs.result['tested']:,}", f"{pairs.seconds:.1f}", f"{pairs.megabytes:.0f}",
          f"{pairs.result['threshold']:.2f}", f"{pairs.result['significant']:,}"]],
    )  # fmt: skip
    null = measured(null_labelings, data)
    print_table(
        f"{LABELINGS:,} labelings without a meaning",
        ["statement", "share of the labelings", "CPU s"],
        [
            ["any adjusted p ≤ .05", f"{null.result['family-wise']:.1%}", f"{null.seconds:.0f}"],
            ["any FDR ≤ .1", f"{null.result['discoveries']:.1%}", ""],
        ],
    )
    planted = measured(planted_words, data).result
    print_table(
        f"{PLANTED} planted words, {TESTS} tests",
        ["method", "planted words found", "others among what is found"],
        [
            ["adjusted p ≤ .05", f"{planted['significant']:.1%}", ""],
            ["FDR ≤ .1", f"{planted['discoveries']:.1%}", f"{planted['false']:.1%}"],
            ["likelihood ratio, Bonferroni at .05", f"{planted['likelihood ratio']:.1%}", ""],
        ],
    )


if __name__ == "__main__":
    typer.run(main)
