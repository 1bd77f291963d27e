"""The head of each word as a choice among candidates: `GraftRanker` against independent decisions and a perceptron.

python benchmarks/heads.py --data DATA [--sets ud_english_ewt] [--again]

Candidates are the other words of the sentence up to :data:`WINDOW` places away, and the root. All methods have the same
items (:func:`items_of`) and their pairs. Each cell is stored at once in heads.json.gz beside this file, so that a
second run does only what is missing; heads.md is written from it. What is measured is said there.
"""

from __future__ import annotations

import contextlib
import io
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse
import typer
from accuracy import GROUPS, RESAMPLES, grouped_sums, interval, names_of, resamples
from common import DataFolder, beside, load_results, pin_threads, print_table, save_results, write_page
from dependency import HEAD, LEMMA, MIN_DF, UPOS, XPOS, Pairs, Word, as_matrix, read_words

HERE = Path(__file__).parent
Result = dict[str, Any]
#: How far a head may be; farther ones are never found.
WINDOW = 12
#: Training sentences, those to choose settings by, and those that everything is compiled with.
TRAIN_SENTENCES = {"ud_english_ewt": 400, "ud_japanese_gsd": 250}
DEV_SENTENCES, FEW = 200, 10
FILES = {"ud_english_ewt": "en_ewt-ud-{}.conllu.gz", "ud_japanese_gsd": "ja_gsd-ud-{}.conllu.gz"}
#: Rows whose pairs are written down at a time.
ROWS = 50_000
DISTANCES = (1, 2, 3, 5, 8)


# Candidates ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """The candidates of some sentences, word by word.

    Attributes
    ----------
    matrix : csr_array (candidates, items)
    correct : bool (candidates)
    groups : int64 (candidates)
        The word of each.
    sentences : int64 (words)
        The sentence of each.
    """

    matrix: scipy.sparse.csr_array
    correct: np.ndarray
    groups: np.ndarray
    sentences: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        return np.flatnonzero(np.diff(self.groups, prepend=-1))

    def with_heads(self) -> Part:
        """The words whose head is among the candidates."""
        there = np.logical_or.reduceat(self.correct, self.starts)
        rows, numbers = there[self.groups], np.cumsum(there) - 1
        return Part(self.matrix[rows], self.correct[rows], numbers[self.groups[rows]], self.sentences[there])

    def right(self, scores: np.ndarray) -> np.ndarray:
        """Right heads of each sentence, where the best candidates are chosen: int64 (sentences)."""
        best = np.lexsort((-scores, self.groups))[self.starts]
        return np.bincount(self.sentences, self.correct[best]).astype(np.int64)


def items_of(words: Sequence[Word], child: int, head: int) -> set[str]:
    """What describes a candidate; ``head`` is -1 for the root."""
    items = described("child", words, child) | described("head", words, head)
    for offset in (-1, 1):
        items.add(f"child{offset:+} {tag(words, child + offset)}")
        items.add(f"head{offset:+} {tag(words, head + offset) if head >= 0 else 'ROOT'}")
    if head < 0:
        return items
    first, last = min(child, head), max(child, head)
    items |= {f"between {word[UPOS]}" for word in words[first + 1 : last]}
    steps = sum(last - first >= bound for bound in DISTANCES)
    items.add(f"{'follows' if head > child else 'precedes'} {steps}")
    items.add("head follows" if head > child else "head precedes")
    return items


def described(what: str, words: Sequence[Word], place: int) -> set[str]:
    if place < 0:
        return {f"{what} ROOT"}
    word = words[place]
    return {f"{what} {word[UPOS]}", f"{what} {word[XPOS]}", f"{what} {word[LEMMA].lower()}"}


def tag(words: Sequence[Word], place: int) -> str:
    return words[place][UPOS] if 0 <= place < len(words) else "none"


def candidates(sentences: Sequence[Sequence[Word]]) -> tuple[list[set[str]], Part]:
    """The items of all candidates, and a part that has no matrix yet."""
    items, correct, groups, of_words = [], [], [], []
    for number, words in enumerate(sentences):
        for child, word in enumerate(words):
            nearby = range(max(child - WINDOW, 0), min(child + WINDOW + 1, len(words)))
            for head in (-1, *(place for place in nearby if place != child)):
                items.append(items_of(words, child, head))
                correct.append(head == int(word[HEAD]) - 1)
                groups.append(len(of_words))
            of_words.append(number)
    nothing = scipy.sparse.csr_array((len(items), 0))
    return items, Part(nothing, np.array(correct), np.array(groups), np.array(of_words))


@dataclass(frozen=True)
class Corpus:
    train: Part
    dev: Part
    test: Part
    figures: Result


def read_corpus(data: Path, name: str) -> Corpus:
    sentences = {split: list(read_words(data / name / FILES[name].format(split))) for split in ("train", "dev", "test")}
    for split, n in (("train", TRAIN_SENTENCES[name]), ("dev", DEV_SENTENCES)):
        random.Random(0).shuffle(sentences[split])
        del sentences[split][n:]
    numbers: dict[str, int] = {}
    parts = {}
    for split, its in sentences.items():
        items, part = candidates(its)
        if split == "train":
            numbers = {item: number for number, item in enumerate(sorted(set().union(*items)))}
        parts[split] = Part(as_matrix(items, numbers), part.correct, part.groups, part.sentences)
    test, train = parts["test"], parts["train"].with_heads()
    figures = {
        "sentences": {split: len(its) for split, its in sentences.items()},
        "words": grouped_sums(np.bincount(test.sentences)),
        "training_words": len(train.sentences),
        "training_candidates": len(train.groups),
        "items": int((np.bincount(train.matrix.indices, minlength=len(numbers)) >= MIN_DF).sum()),
        "within": float(test.correct.sum() / len(test.sentences)),
    }
    return Corpus(train, parts["dev"], test, figures)


# Methods -------------------------------------------------------------------------------------------------------------

#: Scores of candidates from their matrix.
Scorer = Callable[[scipy.sparse.csr_array], np.ndarray]


def choice(degree: int) -> Callable[[Part, float], tuple[Scorer, int]]:
    def fit(train: Part, l1: float) -> tuple[Scorer, int]:
        from spacy_graft import Grafting, GraftRanker

        model = GraftRanker(Grafting(l1=l1), degree=degree, min_df=MIN_DF)
        model.fit(train.matrix, train.correct, train.groups)
        return model.decision_function, len(model.features())

    return fit


def independent(train: Part, l1: float) -> tuple[Scorer, int]:
    """Is this candidate the head? One binary decision for each; the one that says so most is taken."""
    from spacy_graft import GraftClassifier, Grafting

    model = GraftClassifier(Grafting(l1=l1), degree=2, min_df=MIN_DF)
    model.fit(train.matrix, np.where(train.correct, "yes", "no").tolist())
    return model.decision_function, len(model.features())


def perceptron(train: Part, epochs: float) -> tuple[Scorer, int]:
    """Averaged perceptron over the candidates of a word (Collins 2002), with all pairs written down."""
    pairs = Pairs(frequent(train.matrix))
    expanded = pairs.expand(frequent(train.matrix))
    weights, sums = (np.zeros(expanded.shape[1]) for _ in range(2))
    starts = np.append(train.starts, len(train.groups))
    shuffled, step = np.random.default_rng(0), 1
    for _ in range(int(epochs)):
        order = shuffled.permutation(len(starts) - 1)
        compiled_epoch()(expanded.indptr, expanded.indices, starts, train.correct, order, step, weights, sums)
        step += len(order)
    averaged = weights - sums / step

    def scores(matrix: scipy.sparse.csr_array) -> np.ndarray:
        rows = range(0, matrix.shape[0], ROWS)
        return np.concatenate([pairs.expand(matrix[first : first + ROWS]) @ averaged for first in rows])

    return scores, int(np.count_nonzero(averaged))


def frequent(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Without the items of fewer than :data:`MIN_DF` candidates."""
    kept = scipy.sparse.csr_array(matrix * (np.bincount(matrix.indices, minlength=matrix.shape[1]) >= MIN_DF))
    kept.eliminate_zeros()
    return scipy.sparse.csr_array((kept.data, kept.indices.astype(np.int32), kept.indptr.astype(np.int32)), kept.shape)


@cache
def compiled_epoch() -> Callable[..., None]:
    from numba import njit

    compiled: Callable[..., None] = njit(perceptron_epoch)
    return compiled


def perceptron_epoch(
    indptr: np.ndarray, indices: np.ndarray, starts: np.ndarray, correct: np.ndarray, order: np.ndarray,
    step: int, weights: np.ndarray, sums: np.ndarray,
) -> None:  # fmt: skip
    """Every word once, in order. ``sums`` are Σ (number of the step · change) (Daumé 2006)."""
    for group in order:
        best, right, largest = -1, -1, -np.inf
        for row in range(starts[group], starts[group + 1]):
            score = 0.0
            for column in indices[indptr[row] : indptr[row + 1]]:
                score += weights[column]
            if score > largest:
                best, largest = row, score
            if correct[row]:
                right = row
        if best != right:
            for row, sign in ((right, 1.0), (best, -1.0)):
                for column in indices[indptr[row] : indptr[row + 1]]:
                    weights[column] += sign
                    sums[column] += sign * step
        step += 1


@dataclass(frozen=True)
class Method:
    title: str
    fit: Callable[[Part, float], tuple[Scorer, int]]
    #: Those of the smaller models first: of two that are equally good the first is taken.
    settings: Sequence[float]


STRENGTHS = (4.0, 2.0, 1.0)
METHODS = {
    "choice": Method("choice among candidates, degree 2", choice(2), STRENGTHS),
    "independent": Method("independent decisions, degree 2", independent, STRENGTHS),
    "perceptron": Method("averaged perceptron, all pairs", perceptron, (2, 5, 10)),
    "choice-1": Method("choice among candidates, degree 1", choice(1), STRENGTHS),
}
COMPARED = "choice"


def measure(corpus: Corpus, method: Method) -> Result:
    """The setting that is best on dev, and what the others came to."""
    tried, best = [], None
    for setting in method.settings:
        start = time.process_time()
        scores, n_features = method.fit(corpus.train, setting)
        seconds = time.process_time() - start
        right = int(corpus.dev.right(scores(corpus.dev.matrix)).sum()) / len(corpus.dev.sentences)
        tried.append({"setting": setting, "dev": right, "features": n_features, "seconds": seconds})
        if best is None or right > best[0]["dev"]:
            best = tried[-1], scores
    assert best is not None
    return {**best[0], "tried": tried, "right": grouped_sums(corpus.test.right(best[1](corpus.test.matrix)))}


def compile_everything(train: Part) -> None:
    """Fit a few sentences with each method, so that nothing is compiled while the clock runs."""
    few = train.groups < np.searchsorted(train.sentences, FEW)
    words = train.sentences[: np.searchsorted(train.sentences, FEW)]
    part = Part(train.matrix[few], train.correct[few], train.groups[few], words)
    for method in METHODS.values():
        method.fit(part, method.settings[0])[0](part.matrix)


# Tables --------------------------------------------------------------------------------------------------------------

INTRODUCTION = f"""# Heads as choices

Written by `python benchmarks/heads.py --data DATA` from `heads.json.gz`; not to be edited.

The head of each word of Universal Dependencies treebanks, chosen among the words up to {WINDOW} places away and the
root; nothing asks for a tree. Items are lemma and parts of speech (universal, and of the treebank) of word and
candidate, the universal ones of their neighbours and of what is between, direction and distance. Each method has items
of {MIN_DF} training candidates or more and their pairs, but for the last row:

- **choice among candidates**: `GraftRanker`, a softmax over the candidates of each word;
- **independent decisions**: `GraftClassifier` asks of each candidate whether it is the head, with an intercept, and
  the one with the largest score is taken;
- **averaged perceptron** (Collins 2002) over the candidates of each word, with all pairs written down.

L1 strengths and epochs are chosen on {DEV_SENTENCES} sentences of dev; models are trained on train alone, scored once
on test. *Attachment* is the share of all test words, punctuation included, whose head is right. Intervals are the
middle 95% of {RESAMPLES:,} bootstrap resamples of {GROUPS} groups of test sentences, paired where methods are compared
(in bold type: 0 is outside); they do not cover what another training set would have changed. CPU seconds are those of
one fit on one thread, from the matrix of items, and of all settings tried.
"""


class Scores:
    """Of the cells of one treebank."""

    def __init__(self, cells: Result) -> None:
        self.cells, self.words = cells, np.array(cells["corpus"]["words"])
        self.weights = resamples(len(self.words))

    def share(self, right: np.ndarray) -> tuple[float, float, float]:
        """Per cent of the words, and its interval."""
        often = 100.0 * (self.weights @ right) / (self.weights @ self.words)
        return 100.0 * float(right.sum() / self.words.sum()), *interval(often)

    def row(self, name: str, method: Method) -> list[str]:
        cell = self.cells[name]
        right = np.array(cell["right"])
        difference = ""
        if name != COMPARED and COMPARED in self.cells:
            value, low, high = self.share(np.array(self.cells[COMPARED]["right"]) - right)
            mark = "**" if low > 0.0 or high < 0.0 else ""
            difference = f"{mark}{value:+.2f}{mark} ({low:+.2f} to {high:+.2f})"
        value, low, high = self.share(right)
        seconds = sum(tried["seconds"] for tried in cell["tried"])
        return [
            method.title, f"{cell['setting']:g}", f"{100 * cell['dev']:.2f}", f"{value:.2f} ({low:.2f} to {high:.2f})",
            difference, f"{cell['features']:,}", f"{cell['seconds']:.1f}", f"{seconds:.1f}",
        ]  # fmt: skip


def render(results: Result) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(INTRODUCTION, end="")
        for name, cells in results.items():
            header = ["method", "l1 or epochs", "attachment, dev", "attachment, test", "choice minus it", "features",
                      "CPU s", "with choice of settings"]  # fmt: skip
            scores = Scores(cells)
            print_table(name, header, (scores.row(key, its) for key, its in METHODS.items() if key in cells))
            print(f"\n{summary(cells['corpus'])}")
    return out.getvalue()


def summary(figures: Result) -> str:
    sentences = figures["sentences"]
    return (
        f"{sentences['train']:,} training sentences, drawn at random: {figures['training_words']:,} words with their "
        f"head among the candidates, {figures['training_candidates']:,} candidates, {figures['items']:,} items. "
        f"Test: {sentences['test']:,} sentences of {sum(figures['words']):,.0f} words; {figures['within']:.1%} of the "
        f"heads are among the candidates."
    )


def main(
    data: DataFolder,
    sets: Annotated[str | None, typer.Option(help="Names of sets, separated by commas; all if not given.")] = None,
    again: Annotated[bool, typer.Option(help="Also what is there already.")] = False,
    results: Annotated[Path, typer.Option(help="Where results are; tables beside it.")] = HERE / "heads.json.gz",
) -> None:
    """Measure what is missing, and write the tables."""
    pin_threads()
    stored = load_results(results)
    for name in names_of(sets, tuple(FILES), "set"):
        found = stored.setdefault(name, {})
        missing = [method for method in METHODS if again or method not in found]
        if not missing:
            continue
        corpus = read_corpus(data, name)
        compile_everything(corpus.train)
        found["corpus"] = {"date": str(date.today()), **corpus.figures}
        for method in missing:
            found[method] = measure(corpus, METHODS[method])
            save_results(results, stored)
            print(f"{name}: {method}: dev {found[method]['dev']:.4f}, {found[method]['seconds']:.1f} s", flush=True)
    ordered = {name: stored[name] for name in FILES if name in stored}
    write_page(beside(results, ".md"), render(ordered))


if __name__ == "__main__":
    typer.run(main)
