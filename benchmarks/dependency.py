"""Dependency analysis with combination features: the table of Okanohara & Tsujii (2009) on Universal Dependencies.

python benchmarks/dependency.py --data DATA [--sets ud_japanese_gsd] [--methods m1,m2] [--minutes 10] [--draws 5]

Each result is measured in a process of its own and stored at once in dependency.json.gz beside this file, so that a
second run does only what is missing; the tables are printed.

An *event* is a question that a parser asks: unit s is on top of the stack, unit b is next in the buffer; is b the head
of s? Its originals are names such as ``m.upos=NOUN``, of s (``m``, the modifier), of b (``h``), of their neighbours and
of what is between them. The questions are those of a parser that has made no mistake so far.

Japanese (UD_Japanese-GSD): units are bunsetsu, and the parser is that of Sassano (2004) for languages whose heads
follow: a unit whose head is not b stays on the stack, and the last unit takes what is left without being asked about.
Bunsetsu boundaries are not in the train file; a rule over part-of-speech tags and relations finds them in all three
files alike (:func:`continues`), which agrees with the labels of the dev and test files on 98.7 and 98.6% of the words.
The head of a bunsetsu is the one that its only arc to the outside leads to. Left out are sentences with a bunsetsu of
several such arcs or whose head precedes it, with crossing arcs, and with a root that is not last.

English (UD_English-EWT): units are words, heads are on both sides, and the parser is arc-hybrid (Kuhlmann et al. 2011),
which is Sassano's with one more action: s may be attached to the unit below it on the stack. It asks the same question
whenever the stack is not empty; that other action follows the gold tree. Left out are sentences with crossing arcs.
"""

from __future__ import annotations

import gzip
import multiprocessing
import pickle
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse
import typer
from common import DataFolder, Died, load_results, measured, need, pin_threads, print_rows, print_table, updated_results

HERE = Path(__file__).parent
#: Least number of training events of an original, and of a product.
MIN_DF = 3
#: Training events at the most; sentences are drawn until there are so many.
TRAIN_EVENTS = 100_000
#: Events that the kernel machine is given, since its time grows with their square: to choose C with, and with that C.
KERNEL_EVENTS, MORE_EVENTS = 10_000, 20_000
#: Events of dev at the most.
DEV_EVENTS = 10_000
#: Events that methods are compiled with.
FEW = 500
#: What the gradient's length falls to in Newton's method, and that of the residual in each of its steps.
NEWTON_ACCURACY, CG_ACCURACY = 0.01, 0.3
#: Features of each size whose names are kept.
EXAMPLES = 8
#: Columns of CoNLL-U.
FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, RELATION = 1, 2, 3, 4, 5, 6, 7
Word = list[str]
Result = dict[str, Any]


@dataclass(frozen=True)
class Sentence:
    """Units by what they are described with, and the number of each one's head (-1 for the root)."""

    units: list[dict[str, str]]
    heads: list[int]


# Reading -------------------------------------------------------------------------------------------------------------


def read_words(path: Path) -> Iterator[list[Word]]:
    """The sentences of a CoNLL-U file, without empty nodes and ranges."""
    words: list[Word] = []
    with gzip.open(path, "rt", encoding="utf8") as lines:
        for line in lines:
            columns = line.rstrip("\n").split("\t")
            if columns[0].isdigit():
                words.append(columns)
            elif not line.strip() and words:
                yield words
                words = []
    if words:
        yield words


def continues(word: Word, previous: Word) -> bool:
    """Whether a Japanese word belongs to the bunsetsu of the one before."""
    if word[XPOS] == "補助記号-括弧開":
        return False
    if major(word) in ("助詞", "助動詞", "接尾辞", "補助記号", "空白") or word[RELATION] in ("fixed", "aux", "cop"):
        return True
    if previous[XPOS] == "補助記号-括弧開" or major(previous) == "接頭辞":
        return True
    nominal = major(previous) in ("名詞", "接尾辞", "記号") and previous[RELATION] in ("compound", "nummod")
    return nominal and int(previous[HEAD]) > int(previous[0])


def major(word: Word) -> str:
    return word[XPOS].split("-")[0]


def bunsetsu_of(words: Sequence[Word]) -> list[list[Word]]:
    groups: list[list[Word]] = []
    for word in words:
        if groups and continues(word, groups[-1][-1]):
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups


def japanese(words: Sequence[Word]) -> Sentence | None:
    """A sentence in bunsetsu, if each has one head, which follows, and no arcs cross."""
    groups = bunsetsu_of(words)
    group_of = {0: -1} | {int(word[0]): g for g, group in enumerate(groups) for word in group}
    heads = []
    for g, group in enumerate(groups):
        outside = {group_of[int(word[HEAD])] for word in group} - {g}
        if len(outside) != 1:
            return None
        heads.append(outside.pop())
    final = heads[-1] == -1 and all(head > g for g, head in enumerate(heads[:-1]))
    return Sentence([bunsetsu_unit(group) for group in groups], heads) if final and is_projective(heads) else None


def english(words: Sequence[Word]) -> Sentence | None:
    """A sentence in words, if no arcs cross."""
    heads = [int(word[HEAD]) - 1 for word in words]
    return Sentence([word_unit(word) for word in words], heads) if is_projective(heads) else None


def is_projective(heads: Sequence[int]) -> bool:
    arcs = [(min(d, head), max(d, head)) for d, head in enumerate(heads) if head >= 0]
    crossing = any(a < c < b < d for a, b in arcs for c, d in arcs)
    root = heads.index(-1)
    return not crossing and not any(a < root < b for a, b in arcs)


def bunsetsu_unit(group: Sequence[Word]) -> dict[str, str]:
    """Its head word (the last with content), functional word (the last that is no sign), first word, and signs."""
    plain = [word for word in group if major(word) not in ("補助記号", "空白")] or list(group)
    content = [word for word in plain if major(word) not in ("助詞", "助動詞", "接尾辞")] or plain
    head, function = content[-1], plain[-1]
    signs = {word[XPOS]: word[FORM] for word in group if major(word) == "補助記号"}
    unit = {
        "lemma": head[LEMMA], "form": head[FORM], "upos": head[UPOS], "xpos": head[XPOS],
        "f.form": function[FORM], "f.lemma": function[LEMMA], "f.xpos": function[XPOS],
        "f2.form": plain[-2][FORM] if len(plain) > 1 else "-",
        "first": plain[0][XPOS], "after": "".join(word[FORM] for word in plain[plain.index(head) + 1 :]) or "-",
        "size": str(min(len(plain), 4)),
    }  # fmt: skip
    return unit | {f"sign.{xpos}": form for xpos, form in signs.items()}


def word_unit(word: Word) -> dict[str, str]:
    unit = {
        "form": word[FORM].lower(), "lemma": word[LEMMA].lower(), "upos": word[UPOS], "xpos": word[XPOS],
        "suffix": word[FORM].lower()[-3:], "case": "upper" if word[FORM][0].isupper() else "lower",
    }  # fmt: skip
    feats = () if word[FEATS] == "_" else word[FEATS].split("|")
    return unit | {feat.split("=")[0]: feat.split("=")[1] for feat in feats}


# Events --------------------------------------------------------------------------------------------------------------


def linear_time_parser(n: int) -> Generator[tuple[int, int], bool, list[int]]:
    """Sassano's parser: asks about (s, b), is sent the answers, and returns the heads."""
    heads = [n - 1] * (n - 1) + [-1]
    stack = [0]
    for b in range(1, n - 1):
        while stack and (yield stack[-1], b):
            heads[stack.pop()] = b
        stack.append(b)
    return heads


def head_final_events(heads: Sequence[int]) -> Iterator[tuple[int, int]]:
    """What Sassano's parser asks on the way to the gold tree."""
    parser = linear_time_parser(len(heads))
    answer: bool | None = None
    try:
        while True:
            s, b = parser.send(answer)  # type: ignore[arg-type]
            yield s, b
            answer = heads[s] == b
    except StopIteration:
        return


def arc_hybrid_events(heads: Sequence[int]) -> Iterator[tuple[int, int]]:
    """What an arc-hybrid parser asks on the way to the gold tree."""
    last_child = dict(zip(heads, range(len(heads)), strict=True))
    stack: list[int] = []
    for b in range(len(heads)):
        while stack:
            s = stack[-1]
            yield s, b
            complete = len(stack) > 1 and heads[s] == stack[-2] and last_child.get(s, -1) < b
            if heads[s] != b and not complete:
                break
            stack.pop()
        stack.append(b)


def japanese_originals(units: Sequence[dict[str, str]], s: int, b: int) -> set[str]:
    names = described("m", units[s]) | described("h", units[b])
    neighbours = ("lemma", "xpos", "f.form", "f.xpos")
    names |= neighbour("m+", units, s + 1, neighbours) | neighbour("h+", units, b + 1, neighbours)
    names |= neighbour("m-", units, s - 1, ("f.form",)) | neighbour("h-", units, b - 1, ("f.form", "f.xpos"))
    between = units[s + 1 : b]
    names |= {f"between={unit['f.form']}" for unit in between}
    if any("sign.補助記号-読点" in unit for unit in between):
        names.add("between.comma")
    if any(unit["f.form"] == units[s]["f.form"] for unit in between):
        names.add("between.same")
    return names | distance(s, b)


def english_originals(units: Sequence[dict[str, str]], s: int, b: int) -> set[str]:
    names = described("m", units[s]) | described("h", units[b])
    for offset in (-2, -1, 1, 2):
        names |= neighbour(f"m{offset:+}", units, s + offset, ("lemma", "xpos")[abs(offset) - 1 :])
        names |= neighbour(f"h{offset:+}", units, b + offset, ("lemma", "xpos")[abs(offset) - 1 :])
    names |= {f"between={unit['upos']}" for unit in units[s + 1 : b]}
    if units[s].get("Number") == units[b].get("Number"):
        names.add("same.number")
    return names | distance(s, b)


def described(prefix: str, unit: dict[str, str]) -> set[str]:
    return {f"{prefix}.{key}={value}" for key, value in unit.items()}


def neighbour(prefix: str, units: Sequence[dict[str, str]], place: int, keys: Sequence[str]) -> set[str]:
    if not 0 <= place < len(units):
        return {f"{prefix}=none"}
    return {f"{prefix}.{key}={units[place][key]}" for key in keys}


def distance(s: int, b: int) -> set[str]:
    steps = b - s
    return {f"distance={'1' if steps == 1 else '2-5' if steps <= 5 else '6+'}"}


@dataclass(frozen=True)
class Language:
    """How sentences are read, asked about and described; whether the parser can do without the gold tree."""

    files: str
    read: Callable[[Sequence[Word]], Sentence | None]
    events: Callable[[Sequence[int]], Iterator[tuple[int, int]]]
    originals: Callable[[Sequence[dict[str, str]], int, int], set[str]]
    parses: bool


LANGUAGES = {
    "ud_japanese_gsd": Language(
        "ja_gsd-ud-{}.conllu.gz", japanese, head_final_events, japanese_originals, parses=True
    ),
    "ud_english_ewt": Language("en_ewt-ud-{}.conllu.gz", english, arc_hybrid_events, english_originals, parses=False),
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """Events: a row of zeros and ones each, and whether b is the head of s."""

    matrix: scipy.sparse.csr_array
    answers: np.ndarray

    def first(self, n: int) -> Part:
        return self.between(0, n)

    def between(self, start: int, stop: int) -> Part:
        return Part(self.matrix[start:stop], self.answers[start:stop])


@dataclass(frozen=True)
class Corpus:
    """What methods are trained and tested on.

    Attributes
    ----------
    train, dev, test : Part
    names : list of str
        Of the originals.
    sentences : list of Sentence
        Those of test.
    counts : dict
        Sentences and events by split, originals.
    """

    train: Part
    dev: Part
    test: Part
    names: list[str]
    sentences: list[Sentence]
    counts: Result


def read_corpus(data: Path, name: str) -> Corpus:
    """Events of all three files, with the originals that training events have often enough."""
    language = LANGUAGES[name]
    counts: Result = {}
    sentences, events = {}, {}
    for split in ("train", "dev", "test"):
        found = [language.read(words) for words in read_words(data / name / language.files.format(split))]
        kept = [sentence for sentence in found if sentence is not None]
        sentences[split] = drawn(kept, language) if split == "train" else kept
        events[split] = [event for sentence in sentences[split] for event in events_of(sentence, language)]
        counts[split] = {
            "all": len(found), "kept": len(kept), "sentences": len(sentences[split]), "events": len(events[split]),
            "heads": sum(answer for _, answer in events[split]),
        }  # fmt: skip
    df = Counter(name for names, _ in events["train"] for name in names)
    names = sorted(name for name, n in df.items() if n >= MIN_DF)
    numbers = {name: number for number, name in enumerate(names)}
    parts = [as_part(events[split], numbers) for split in ("train", "dev", "test")]
    counts |= {"originals": len(names), "per_event": parts[0].matrix.nnz / parts[0].matrix.shape[0]}
    return Corpus(*parts, names, sentences["test"], counts)


def write_corpus(data: Path, name: str, file: Path) -> None:
    file.write_bytes(pickle.dumps(read_corpus(data, name)))


def load_corpus(file: Path) -> Corpus:
    """What a parent process has read, so that the memory which that takes does not hide that of training."""
    with file.open("rb") as stored:
        corpus: Corpus = pickle.load(stored)
    return corpus


def drawn(sentences: Sequence[Sentence], language: Language) -> list[Sentence]:
    """Sentences in random order, until they have enough events."""
    order = np.random.default_rng(0).permutation(len(sentences))
    shuffled = [sentences[i] for i in order]
    totals = np.cumsum([sum(1 for _ in language.events(sentence.heads)) for sentence in shuffled])
    return shuffled[: int(np.searchsorted(totals, TRAIN_EVENTS, side="right"))]


def events_of(sentence: Sentence, language: Language) -> Iterator[tuple[set[str], bool]]:
    for s, b in language.events(sentence.heads):
        yield language.originals(sentence.units, s, b), sentence.heads[s] == b


def as_part(events: Sequence[tuple[set[str], bool]], numbers: dict[str, int]) -> Part:
    return Part(as_matrix([names for names, _ in events], numbers), np.array([answer for _, answer in events]))


def as_matrix(events: Sequence[set[str]], numbers: dict[str, int]) -> scipy.sparse.csr_array:
    rows = [sorted(numbers[name] for name in names if name in numbers) for names in events]
    # Of 32 bits, or scikit-learn's kernel machine refuses the matrix.
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    indices = np.fromiter((column for row in rows for column in row), np.int32, int(indptr[-1]))
    return scipy.sparse.csr_array((np.ones(len(indices)), indices, indptr), (len(rows), len(numbers)))


# Products, written down ----------------------------------------------------------------------------------------------


class Pairs:
    """All products of two originals that enough training events have, as columns after the originals."""

    def __init__(self, matrix: scipy.sparse.csr_array) -> None:
        codes, counts = np.unique(pair_codes(matrix)[1], return_counts=True)
        self.n_all = len(codes)
        self.codes = codes[counts >= MIN_DF]

    def expand(self, matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        """Originals and pairs."""
        starts, codes = pair_codes(matrix)
        columns = np.searchsorted(self.codes, codes)
        columns[columns == len(self.codes)] = 0
        known = self.codes[columns] == codes
        indptr = np.concatenate([[0], np.cumsum(known)])[starts]
        shape = (matrix.shape[0], len(self.codes))
        pairs = scipy.sparse.csr_array((np.ones(indptr[-1]), columns[known].astype(np.int32), indptr), shape)
        return scipy.sparse.csr_array(scipy.sparse.hstack([matrix, pairs], format="csr"))


def pair_codes(matrix: scipy.sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Where each row's pairs begin (int64, rows + 1), and their codes, first member * columns + second (int64)."""
    lengths = np.diff(matrix.indptr).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths * (lengths - 1) // 2)])
    codes = np.empty(starts[-1], np.int64)
    for row, (first, last) in enumerate(zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)):
        columns = matrix.indices[first:last].astype(np.int64)
        i, j = pairs_among(len(columns))
        codes[starts[row] : starts[row + 1]] = columns[i] * matrix.shape[1] + columns[j]
    return starts, codes


@cache
def pairs_among(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of all pairs of so many."""
    return np.triu_indices(n, 1)


class Products:
    """All products of at most three originals that enough training events have, each with its rows.

    Originals are ranked by frequency, rare ones first; a product belongs to its rarest original i, its *anchor*, and
    has a code: j n + l for the product with j and l, j n + j for that with j alone, and i n + i for i itself.

    Attributes
    ----------
    rank : int64 (originals)
    blocks : int64 (originals + 1), codes : int64 (products)
        The products of each anchor, by code.
    starts : int64 (products + 1), rows : int32
        The training events of each product.
    """

    def __init__(self, matrix: scipy.sparse.csr_array) -> None:
        n_rows, n = matrix.shape
        self.rank = np.argsort(np.argsort(np.bincount(matrix.indices, minlength=n), kind="stable"))
        by_row = self.ranked(matrix)
        by_column = scipy.sparse.csc_array(by_row)
        kernels = compiled_products()
        codes, ends, rows = [], [], []
        for anchor in range(n):
            of_anchor = by_column.indices[by_column.indptr[anchor] : by_column.indptr[anchor + 1]]
            keys = kernels.keys(by_row.indptr, by_row.indices, of_anchor, anchor, n, n_rows)
            keys.sort()
            its_codes, its_ends, its_rows = kernels.frequent(keys, n_rows, MIN_DF)
            codes.append(its_codes)
            ends.append(its_ends)
            rows.append(its_rows)
        self.blocks = np.cumsum([0, *map(len, codes)])
        self.codes = np.concatenate(codes)
        offsets = np.repeat(np.cumsum([0, *map(len, rows[:-1])]), list(map(len, codes)))
        self.starts = np.concatenate([[0], np.concatenate(ends) + offsets])
        self.rows = np.concatenate(rows)

    def ranked(self, matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        """The originals by their ranks."""
        found = scipy.sparse.csr_array(
            (matrix.data, self.rank[matrix.indices].astype(np.int32), matrix.indptr), matrix.shape
        )
        found.sort_indices()
        return found

    def by_size(self) -> dict[str, int]:
        """How many products have one, two and three originals."""
        n = len(self.rank)
        anchors = np.repeat(np.arange(n), np.diff(self.blocks))
        first, second = np.divmod(self.codes, n)
        sizes = np.where(first != second, 3, np.where(first == anchors, 1, 2))
        return {str(size): int(count) for size, count in enumerate(np.bincount(sizes)) if count}

    def scores(self, matrix: scipy.sparse.csr_array, weights: np.ndarray) -> np.ndarray:
        """Sums of the weights of each row's products."""
        ranked = self.ranked(matrix)
        return compiled_products().scores(
            ranked.indptr, ranked.indices, len(self.rank), self.blocks, self.codes, weights
        )


class ProductKernels(NamedTuple):
    """What :class:`Products` is compiled of."""

    keys: Callable[..., np.ndarray]
    frequent: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]
    scores: Callable[..., np.ndarray]
    add: Callable[..., None]
    gradient: Callable[..., None]


@cache
def compiled_products() -> ProductKernels:
    from numba import njit

    return ProductKernels(*map(njit, (product_keys, frequent_products, product_scores, add_products, product_gradient)))


def product_keys(indptr, indices, rows, anchor, n, n_rows):  # type: ignore[no-untyped-def]
    """Code and row of every product with an anchor, as one number: code · rows + row."""
    size = 0
    for row in rows:
        later = indptr[row + 1] - np.searchsorted(indices[indptr[row] : indptr[row + 1]], anchor) - indptr[row] - 1
        size += 1 + later + later * (later - 1) // 2
    keys = np.empty(size, np.int64)
    size = 0
    for row in rows:
        begin, end = indptr[row] + np.searchsorted(indices[indptr[row] : indptr[row + 1]], anchor), indptr[row + 1]
        keys[size] = np.int64(anchor * n + anchor) * n_rows + row
        size += 1
        for j in range(begin + 1, end):
            first = np.int64(indices[j]) * n
            for second in range(j, end):
                keys[size] = (first + indices[second]) * n_rows + row
                size += 1
    return keys


def frequent_products(keys, n_rows, min_df):  # type: ignore[no-untyped-def]
    """Codes of at least so many rows, where the rows of each end, and the rows."""
    n_codes, n_entries, begin = 0, 0, 0
    for e in range(1, len(keys) + 1):
        if e == len(keys) or keys[e] // n_rows != keys[begin] // n_rows:
            if e - begin >= min_df:
                n_codes, n_entries = n_codes + 1, n_entries + e - begin
            begin = e
    codes, ends, rows = np.empty(n_codes, np.int64), np.empty(n_codes, np.int64), np.empty(n_entries, np.int32)
    n_codes, n_entries, begin = 0, 0, 0
    for e in range(1, len(keys) + 1):
        if e == len(keys) or keys[e] // n_rows != keys[begin] // n_rows:
            if e - begin >= min_df:
                for entry in range(begin, e):
                    rows[n_entries] = keys[entry] % n_rows
                    n_entries += 1
                codes[n_codes], ends[n_codes] = keys[begin] // n_rows, n_entries
                n_codes += 1
            begin = e
    return codes, ends, rows


def product_scores(indptr, indices, n, blocks, codes, weights):  # type: ignore[no-untyped-def]
    """Sums of the weights of the products that each row has."""
    scores = np.zeros(len(indptr) - 1)
    for row in range(len(scores)):
        for i in range(indptr[row], indptr[row + 1]):
            anchor = indices[i]
            place, end = blocks[anchor], blocks[anchor + 1]
            for j in range(i, indptr[row + 1]):
                first = np.int64(indices[j]) * n
                for second in range(j, indptr[row + 1] if j > i else j + 1):
                    if place == end:
                        break
                    code = first + indices[second]
                    place += np.searchsorted(codes[place:end], code)
                    if place < end and codes[place] == code:
                        scores[row] += weights[place]
    return scores


def add_products(starts, rows, weights, scores):  # type: ignore[no-untyped-def]
    """Add the weight of each product to the scores of its rows."""
    for k in range(len(weights)):
        for e in range(starts[k], starts[k + 1]):
            scores[rows[e]] += weights[k]


def product_gradient(starts, rows, slopes, gradient):  # type: ignore[no-untyped-def]
    """Sum the slopes of each product's rows."""
    for k in range(len(gradient)):
        total = 0.0
        for e in range(starts[k], starts[k + 1]):
            total += slopes[rows[e]]
        gradient[k] = total


# Methods -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """A trained method.

    Attributes
    ----------
    decide : callable
        Answers (bool) from a matrix of originals.
    features : dict of str to int
        Those with a weight, by number of members; or what the model consists of instead.
    notes : dict
        What else there is to tell.
    """

    decide: Callable[[scipy.sparse.csr_array], np.ndarray]
    features: dict[str, int]
    notes: Result = field(default_factory=dict)


def ours(degree: int) -> Callable[[Part, float], Model]:
    """L1-regularised logistic regression over originals and products: this package."""

    def fit(train: Part, l1: float) -> Model:
        from spacy_graft import GraftClassifier, Grafting

        model = GraftClassifier(Grafting(l1=l1), degree=degree, min_df=MIN_DF)
        model.fit(train.matrix, train.answers.tolist())
        features = model.features()
        by_size = Counter(str(len(feature.names)) for feature in features)
        notes = {"report": model.report.to_dict(), "largest": largest_weights(features)}
        return Model(lambda matrix: np.array(model.predict(matrix)), dict(by_size), notes)

    return fit


def largest_weights(features: Sequence[Any]) -> list[list[Any]]:
    """Of each size, the columns of originals, the weight of yes and the events of the features with the largest."""
    found = []
    for size in (1, 2, 3):
        of_size = [feature for feature in features if len(feature.names) == size]
        of_size.sort(key=lambda feature: -abs(feature.weights[True]))
        found += [[list(f.names), float(f.weights[True]), int(f.df)] for f in of_size[:EXAMPLES]]
    return found


def l2_originals(train: Part, c: float) -> Model:
    found = logistic_regression(train.matrix, train.answers, c)
    return Model(found.predict, {"1": int(np.count_nonzero(found.coef_))}, {"rounds": int(found.n_iter_[0])})


def l2_pairs(train: Part, c: float) -> Model:
    """L2-regularised logistic regression over all pairs, written down."""
    pairs = Pairs(train.matrix)
    expanded = pairs.expand(train.matrix)
    found = logistic_regression(expanded, train.answers, c)
    weights, n = found.coef_[0], train.matrix.shape[1]
    features = {"1": int(np.count_nonzero(weights[:n])), "2": int(np.count_nonzero(weights[n:]))}
    notes = {"rounds": int(found.n_iter_[0]), "entries": int(expanded.nnz), "pairs": pairs.n_all}
    return Model(lambda matrix: found.predict(pairs.expand(matrix)), features, notes)


def l2_triples(train: Part, c: float) -> Model:
    """L2-regularised logistic regression over all products of up to three, written down."""
    products = Products(train.matrix)
    weights, rounds = ridge_regression(products, train.answers, c)
    notes = {"rounds": rounds, "entries": len(products.rows)}

    def decide(matrix: scipy.sparse.csr_array) -> np.ndarray:
        return products.scores(matrix, weights[:-1]) + weights[-1] > 0.0

    return Model(decide, products.by_size(), notes)


def ridge_regression(products: Products, answers: np.ndarray, c: float) -> tuple[np.ndarray, int]:
    """Weights that minimise C Σ loss + ‖w‖² / 2, the last of them the intercept, and how many products H d it took.

    Newton's method with conjugate gradients (Lin, Weng & Keerthi 2008), which keeps five numbers a weight and no more.
    """
    from scipy.special import expit

    def times(weights: np.ndarray) -> np.ndarray:
        scores = np.full(len(answers), weights[-1])
        compiled_products().add(products.starts, products.rows, weights[:-1], scores)
        return scores

    def gradient_of(slopes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        gradient = np.empty_like(weights)
        compiled_products().gradient(products.starts, products.rows, slopes, gradient[:-1])
        gradient[:-1] += weights[:-1]
        gradient[-1] = slopes.sum()
        return gradient

    weights, scores, gold, n_products = (
        np.zeros(len(products.codes) + 1),
        np.zeros(len(answers)),
        answers.astype(float),
        0,
    )
    first = None
    while True:
        p = expit(scores)
        residual = -gradient_of(c * (p - gold), weights)
        norm = float(np.linalg.norm(residual))
        first = norm if first is None else first
        if norm <= NEWTON_ACCURACY * first:
            return weights, n_products
        step, direction, moved, squares = np.zeros_like(weights), residual.copy(), np.zeros(len(answers)), norm**2
        while squares > (CG_ACCURACY * norm) ** 2:
            moves = times(direction)
            bent = gradient_of(c * p * (1.0 - p) * moves, direction)
            length = squares / float(direction @ bent)
            step += length * direction
            moved += length * moves
            residual -= length * bent
            before, squares = squares, float(residual @ residual)
            direction *= squares / before
            direction += residual
            n_products += 1
        size = 1.0
        while value(c, gold, scores + size * moved, weights + size * step) > value(c, gold, scores, weights):
            size *= 0.5
        weights += size * step
        scores += size * moved


def value(c: float, gold: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> float:
    """C Σ loss + ‖w‖² / 2."""
    return float(c * (np.logaddexp(0.0, scores).sum() - scores @ gold) + 0.5 * (weights[:-1] @ weights[:-1]))


def logistic_regression(matrix: scipy.sparse.csr_array, answers: np.ndarray, c: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=c, max_iter=300).fit(matrix, answers)


def kernel_machine(train: Part, c: float) -> Model:
    """Support vector machine whose kernel (1 + x · y)³ is that of all products of three, with fixed factors."""
    from sklearn.svm import SVC

    machine = SVC(C=c, kernel="poly", degree=3, gamma=1.0, coef0=1.0, cache_size=2000).fit(train.matrix, train.answers)
    return Model(machine.predict, {"support vectors": int(machine.n_support_.sum())})


def perceptron_originals(train: Part, epochs: float) -> Model:
    weights = averaged_perceptron(train, int(epochs))
    return Model(lambda matrix: matrix @ weights[:-1] + weights[-1] > 0.0, {"1": int(np.count_nonzero(weights[:-1]))})


def perceptron_pairs(train: Part, epochs: float) -> Model:
    pairs = Pairs(train.matrix)
    weights = averaged_perceptron(Part(pairs.expand(train.matrix), train.answers), int(epochs))
    n = train.matrix.shape[1]
    features = {"1": int(np.count_nonzero(weights[:n])), "2": int(np.count_nonzero(weights[n:-1]))}
    return Model(lambda matrix: pairs.expand(matrix) @ weights[:-1] + weights[-1] > 0.0, features)


def averaged_perceptron(train: Part, epochs: int) -> np.ndarray:
    """Mean weights of a perceptron over all its steps; the last is the intercept."""
    epoch = compiled_epoch()
    weights, sums = (np.zeros(train.matrix.shape[1] + 1) for _ in range(2))
    rng, step = np.random.default_rng(0), 1
    signs = np.where(train.answers, 1.0, -1.0)
    for _ in range(epochs):
        order = rng.permutation(len(signs))
        epoch(train.matrix.indptr, train.matrix.indices, signs, order, step, weights, sums)
        step += len(signs)
    return weights - sums / step


@cache
def compiled_epoch() -> Callable[..., None]:
    from numba import njit

    compiled: Callable[..., None] = njit(perceptron_epoch)
    return compiled


def perceptron_epoch(
    indptr: np.ndarray, indices: np.ndarray, signs: np.ndarray, order: np.ndarray,
    step: int, weights: np.ndarray, sums: np.ndarray,
) -> None:  # fmt: skip
    """Every event once, in order. ``sums`` are Σ (number of the step · change) (Daumé 2006)."""
    for row in order:
        columns = indices[indptr[row] : indptr[row + 1]]
        score = weights[-1]
        for column in columns:
            score += weights[column]
        if score * signs[row] <= 0.0:
            weights[-1] += signs[row]
            sums[-1] += step * signs[row]
            for column in columns:
                weights[column] += signs[row]
                sums[column] += step * signs[row]
        step += 1


@dataclass(frozen=True)
class Method:
    """A row: how it is fitted, the settings that dev chooses among, and how many events it gets."""

    title: str
    fit: Callable[[Part, float], Model]
    settings: Sequence[float]
    events: int = TRAIN_EVENTS


C_COMBINED, C_ORIGINALS, C_L2, EPOCHS = (8.0, 4.0, 2.0), (4.0, 2.0, 1.0), (0.01, 0.1, 1.0), (3, 10)
METHODS = {
    "l1-comb3": Method("L1-Comb, degree 3", ours(3), C_COMBINED),
    "l1-comb2": Method("L1-Comb, degree 2", ours(2), C_COMBINED),
    "l1-orig": Method("L1-Orig", ours(1), C_ORIGINALS),
    "svm": Method("SVM, polynomial kernel of degree 3", kernel_machine, (1e-5, 1e-4, 1e-3), KERNEL_EVENTS),
    "l1-comb3-fewer": Method("L1-Comb, degree 3", ours(3), C_COMBINED, KERNEL_EVENTS),
    "svm-more": Method("SVM, polynomial kernel of degree 3", kernel_machine, (1e-4,), MORE_EVENTS),
    "l1-comb3-more": Method("L1-Comb, degree 3", ours(3), (4.0,), MORE_EVENTS),
    "l2-orig": Method("L2, originals", l2_originals, C_L2),
    "l2-comb2": Method("L2, all pairs", l2_pairs, (0.001, 0.01, 0.1)),
    "l2-comb3": Method("L2-Comb3: L2, all products of up to three", l2_triples, (0.01, 0.003)),
    "perceptron": Method("averaged perceptron, originals", perceptron_originals, EPOCHS),
    "perceptron-pairs": Method("averaged perceptron, all pairs", perceptron_pairs, EPOCHS),
}


#: The paper's Table 1: accuracy of the dependencies, training time and active features.
PAPER = {
    "l1-comb3": ("L1-Comb", "89.03", "605", "78,002"),
    "l1-orig": ("L1-Orig", "88.50", "35", "29,166"),
    "svm": ("SVM 3-poly", "88.72", "35,720", "(kernel)"),
    "l2-comb3": ("L2-Comb3", "89.52", "22,197", "91,477,782"),
    "perceptron": ("Ave. Perceptron", "87.23", "5", "45,089"),
}
#: What others are compared with, and whose features are shown.
FIRST, EXAMPLES_OF = "l1-comb3", "l1-comb3-more"
#: Training events of a draw, and the settings that are tried on the first.
DRAWN_EVENTS = 10_000
#: What the names of their results begin with.
DRAWS = "draws: "
DRAWN = {
    "l1-comb3": (4.0, 2.0), "l1-comb2": (4.0, 2.0), "l1-orig": (2.0, 1.0), "svm": (1e-4,),
    "l2-comb2": (0.01, 0.1), "l2-comb3": (0.01,), "perceptron": (3, 10), "perceptron-pairs": (3, 10),
}  # fmt: skip


# Measuring -----------------------------------------------------------------------------------------------------------


def measure(file: Path, name: str, method_name: str, minutes: float) -> Iterator[Any]:
    """One row; what is measured begins after the first ``yield``."""
    corpus, method = load_corpus(file), METHODS[method_name]
    train = corpus.train.first(method.events)
    method.fit(train.first(FEW), method.settings[0]).decide(corpus.dev.matrix[:FEW])
    yield None
    held = forget_peak()
    dev = corpus.dev.first(DEV_EVENTS)
    tried: list[Result] = []
    best: tuple[float, Model, Result] | None = None
    for setting in method.settings:
        start = time.process_time()
        model = method.fit(train, setting)
        seconds = time.process_time() - start
        accuracy = float((model.decide(dev.matrix) == dev.answers).mean())
        tried.append(
            {"setting": setting, "seconds": seconds, "dev": accuracy, "features": model.features} | model.notes
        )
        if best is None or accuracy > best[0]:
            best = accuracy, model, tried[-1]
        if sum(one["seconds"] for one in tried) > 60 * minutes:
            break
    assert best is not None
    if "largest" in best[2]:
        best[2]["largest"] = [[[corpus.names[int(n)] for n in ns], *its] for ns, *its in best[2]["largest"]]
    yield {
        "events": train.matrix.shape[0], "chosen": best[2], "tried": tried, "cut": len(tried) < len(method.settings),
        "fits": sum(one["seconds"] for one in tried), "peak": memory("VmHWM") - held, "counts": corpus.counts,
    } | tested(best[1], corpus, LANGUAGES[name])  # fmt: skip


def measure_draws(file: Path, method_name: str, n_draws: int) -> Iterator[Any]:
    """Test accuracies after training on disjoint parts of train; of the settings, the best of the first on dev."""
    corpus, method = load_corpus(file), METHODS[method_name]
    starts = range(0, min(n_draws * DRAWN_EVENTS, corpus.train.matrix.shape[0] - DRAWN_EVENTS + 1), DRAWN_EVENTS)
    parts = [corpus.train.between(start, start + DRAWN_EVENTS) for start in starts]
    method.fit(parts[0].first(FEW), method.settings[0]).decide(corpus.dev.matrix[:FEW])
    yield None
    dev = corpus.dev.first(DEV_EVENTS)
    tried = {setting: method.fit(parts[0], setting) for setting in DRAWN[method_name]}
    setting = max(tried, key=lambda setting: float((tried[setting].decide(dev.matrix) == dev.answers).mean()))
    models = [tried[setting], *(method.fit(part, setting) for part in parts[1:])]
    yield {
        "setting": setting,
        "accuracies": [float((m.decide(corpus.test.matrix) == corpus.test.answers).mean()) for m in models],
        "features": [sum(m.features.values()) for m in models],
    }


def forget_peak() -> float:
    """Begin the peak of memory anew; returns what is held, in MB.

    That of ``getrusage`` will not do: a process begins with what its parent held.
    """
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def memory(field: str) -> float:
    """A line of what Linux tells about this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024e-6


def tested(model: Model, corpus: Corpus, language: Language) -> Result:
    """Share of right answers, and of right heads where the parser can do without the gold tree; answers a second."""
    answers = model.decide(corpus.test.matrix)
    right = answers == corpus.test.answers
    result = {"accuracy": float(right.mean()), "events_per_second": speed(model, corpus.test)}
    if language.parses:
        result["head_accuracy"] = head_accuracy(model, corpus, language)
    return result


def speed(model: Model, part: Part) -> float:
    """Answers a second, from the matrix of originals; over a fifth of a second at the least."""
    start, done, seconds = time.process_time(), 0, 0.0
    while seconds < 0.2:
        model.decide(part.matrix)
        done, seconds = done + len(part.answers), time.process_time() - start
    return done / seconds


def head_accuracy(model: Model, corpus: Corpus, language: Language) -> float:
    """Share of right heads, of all units but the last of each sentence, when the parser believes the model."""
    numbers = {name: number for number, name in enumerate(corpus.names)}
    found = parsed(corpus.sentences, lambda names: model.decide(as_matrix(names, numbers)), language)
    gold = [head for sentence in corpus.sentences for head in sentence.heads[:-1]]
    return float(np.mean(np.array(gold) == [head for heads in found for head in heads[:-1]]))


def parsed(
    sentences: Sequence[Sentence], decide: Callable[[list[set[str]]], np.ndarray], language: Language
) -> list[list[int]]:
    """Heads by the linear-time parser, a question of every sentence at a time."""
    heads: list[list[int]] = [[] for _ in sentences]
    parsers = [linear_time_parser(len(sentence.units)) for sentence in sentences]
    answers: dict[int, bool | None] = dict.fromkeys(range(len(sentences)))
    while answers:
        asked = {}
        for i, answer in answers.items():
            try:
                asked[i] = parsers[i].send(answer)  # type: ignore[arg-type]
            except StopIteration as end:
                heads[i] = end.value
        names = [language.originals(sentences[i].units, *question) for i, question in asked.items()]
        answers = dict(zip(asked, map(bool, decide(names)), strict=True)) if names else {}
    return heads


# Keeping and showing -------------------------------------------------------------------------------------------------


def store(path: Path, name: str, method: str, result: Result) -> None:
    """Enter one result. Several processes may write to the same file."""
    with updated_results(path) as stored:
        stored.setdefault(name, {})[method] = result


def rows_of(results: dict[str, Result], parses: bool) -> Iterator[list[str]]:
    for name, method in METHODS.items():
        if name in results:
            yield [*PAPER.get(name, [""] * 4), *row_of(method, results[name], parses)]


def row_of(method: Method, result: Result, parses: bool) -> list[str]:
    chosen = result["chosen"]
    features = " + ".join(
        f"{n:,} ({size})" if size.isdigit() else f"{n:,} {size}" for size, n in sorted(chosen["features"].items())
    )
    return [
        method.title, f"{result['events']:,}", f"{100 * result['accuracy']:.2f}",
        *([f"{100 * result['head_accuracy']:.2f}"] if parses else []),
        f"{chosen['seconds']:,.1f}", search_share(chosen), f"{result['fits']:,.1f}" + (" †" if result["cut"] else ""),
        f"{result['peak']:,.0f}", features, two_digits(result["events_per_second"]), f"{chosen['setting']:g}",
    ]  # fmt: skip


def search_share(chosen: Result) -> str:
    """Of the time of ours, what is not the restricted problem or the index."""
    if "report" not in chosen:
        return ""
    seconds = chosen["report"]["seconds"]
    return f"{seconds['search'] / sum(seconds.values()):.0%}"


def draw_rows(results: dict[str, Result]) -> Iterator[list[str]]:
    """Means over draws, and the difference from L1-Comb on the same draws, with a 95% interval of Student's t."""
    from scipy.stats import t

    drawn = {name: results[DRAWS + name] for name in DRAWN if DRAWS + name in results}
    for name, result in drawn.items():
        accuracies = 100 * np.array(result["accuracies"])
        told = ""
        if name != FIRST and FIRST in drawn:
            n = min(len(accuracies), len(drawn[FIRST]["accuracies"]))
            gained = 100 * np.array(drawn[FIRST]["accuracies"])[:n] - accuracies[:n]
            half = t.ppf(0.975, n - 1) * gained.std(ddof=1) / np.sqrt(n)
            told = f"{gained.mean():+.2f} ± {half:.2f}"
        mean, spread = accuracies.mean(), accuracies.std(ddof=1)
        yield [
            METHODS[name].title, f"{len(accuracies)}", f"{mean:.2f} ± {spread:.2f}", told,
            f"{np.mean(result['features']):,.0f}", f"{result['setting']:g}",
        ]  # fmt: skip


def example_rows(results: dict[str, Result]) -> Iterator[list[str]]:
    """Features of L1-Comb with the largest weights, by size."""
    for names, weight, df in results.get(EXAMPLES_OF, {}).get("chosen", {}).get("largest", []):
        yield [f"{len(names)}", " × ".join(f"`{name}`" for name in sorted(names)), f"{weight:+.2f}", f"{df:,}"]


def two_digits(value: float) -> str:
    return f"{float(format(value, '.2g')):,.0f}"


def show(path: Path, sets: Sequence[str]) -> None:
    stored = load_results(path)
    for name in sets:
        results = stored.get(name)
        if not results:
            continue
        parses = LANGUAGES[name].parses
        header = [
            "paper: method", "heads, %", "s", "features", "ours", "training events", "accuracy, %",
            *(["heads, %"] if parses else []), "CPU s, one fit", "of it search", "with choice", "MB above start",
            "features (members)", "events/s", "l1, C or epochs",
        ]  # fmt: skip
        print_table(f"Dependency analysis, {name}", header, rows_of(results, parses))
        print(f"\n{summary(next(results[method] for method in METHODS if method in results)['counts'])}\n")
        header = ["method", "draws", "accuracy, %", "L1-Comb − this", "features", "l1, C or epochs"]
        print_rows(header, draw_rows(results))
        print()
        print_rows(["originals", "feature", "weight", "events"], example_rows(results))


def summary(counts: Result) -> str:
    parts = [
        f"{split}: {c['events']:,} events ({c['heads'] / c['events']:.0%} yes) of {c['sentences']:,} sentences "
        f"({c['kept']:,} of {c['all']:,} can be parsed so)"
        for split, c in ((split, counts[split]) for split in ("train", "dev", "test"))
    ]
    return f"{'; '.join(parts)}; {counts['originals']:,} originals, {counts['per_event']:.1f} an event."


def names_of(given: str | None, known: Sequence[str], what: str) -> list[str]:
    """Those given, separated by commas, or all."""
    names = list(known) if given is None else given.split(",")
    if unknown := [name for name in names if name not in known]:
        raise typer.BadParameter(f"No such {what}: {', '.join(unknown)}. There are: {', '.join(known)}.")
    return names


def in_child(function: Callable[..., None], *arguments: Any) -> None:
    """Call in a process of its own, so that this one stays small."""
    child = multiprocessing.get_context("spawn").Process(target=function, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        raise RuntimeError(f"{function.__name__} died; see above.")


def run(file: Path, name: str, method: str, minutes: float, draws: int) -> Result:
    """One row, in a process of its own."""
    if method.startswith(DRAWS):
        found = measured(measure_draws, file, method.removeprefix(DRAWS), draws)
    else:
        found = measured(measure, file, name, method, minutes)
    row: Result = found.result | {"seconds": found.seconds}
    return row


def main(
    data: DataFolder,
    sets: Annotated[str | None, typer.Option(help=f"Of {', '.join(LANGUAGES)}.")] = None,
    methods: Annotated[str | None, typer.Option(help=f"Of {', '.join(METHODS)}.")] = None,
    minutes: Annotated[float, typer.Option(help="CPU time after which no further setting is tried.")] = 10.0,
    draws: Annotated[int, typer.Option(help="Disjoint parts of train to measure each method on as well.")] = 5,
    again: Annotated[bool, typer.Option(help="Also what is there already.")] = False,
    results: Annotated[Path, typer.Option(help="Where results are.")] = HERE / "dependency.json.gz",
) -> None:
    """Measure what is missing, and print the tables."""
    need("sklearn")
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    pin_threads()
    chosen_sets = names_of(sets, tuple(LANGUAGES), "set")
    chosen_methods = names_of(methods, tuple(METHODS), "method")
    known = load_results(results)
    drawn = [DRAWS + method for method in chosen_methods if method in DRAWN] if draws else []
    jobs = [(name, method) for name in chosen_sets for method in [*chosen_methods, *drawn]]
    jobs = [job for job in jobs if again or job[1] not in known.get(job[0], {})]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress, tempfile.TemporaryDirectory() as folder:
        bar = progress.add_task("", total=len(jobs))
        for name, method in jobs:
            progress.update(bar, description=f"{method}, {name}")
            file = Path(folder) / name
            if not file.exists():
                in_child(write_corpus, data, name, file)
            try:
                row = run(file, name, method, minutes, draws)
            except Died as died:  # L2-Comb3 may find too little memory; the others need not wait for it.
                progress.console.print(str(died), soft_wrap=True)
            else:
                store(results, name, method, row)
                progress.console.print(f"{method}, {name}: {row['seconds']:.1f} s", soft_wrap=True)
            progress.advance(bar)
    show(results, chosen_sets)


if __name__ == "__main__":
    typer.run(main)
