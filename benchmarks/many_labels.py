"""Very many labels: words as labels, 100 to 14,000 of them, beside fastText and one-against-all LinearSVC.

    python benchmarks/many_labels.py --data DATA [--labels 1000] [--method ours]

Documents are pieces of newsgroup messages and news. Labels are words of at least four letters that are in few of them;
from half of its documents, chosen by a hash, the word is removed. So a label follows from a word where that has been
left, and from the context elsewhere. Results are kept, and only what is missing is measured.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from common import (
    DataFolder,
    beside,
    forget_peak,
    load_results,
    machine,
    measured,
    need,
    peak_megabytes,
    pin_threads,
    print_rows,
    read_jsonl,
    updated_results,
    write_page,
)

HERE = Path(__file__).parent
SETS = ("20newsgroups_bydate", "reuters_modapte")
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
#: Letters of a label.
SHORTEST = 4
#: Test documents; the threshold of each method is chosen on the first half of them, and F1 is of the others.
TESTED = 2000
#: Documents that are scored at a time.
AT_A_TIME = 200
#: Thresholds that are tried: so many quantiles of the highest scores.
TRIED = 200


@dataclass(frozen=True)
class Size:
    """A set: labels, training documents, the characters of a document, and the largest share that has a label."""

    labels: int
    documents: int
    characters: int
    share: float


SIZES = (Size(100, 20_000, 200, 0.01), Size(1_000, 20_000, 200, 0.01), Size(14_000, 10_000, 1_000, 0.02))
METHODS = ("ours", "fastText", "LinearSVC")

HEADER = (
    "labels × documents", "method", "CPU s", "peak MB", "micro-F1", "model MB", "documents a s", "weights"
)  # fmt: skip

INTRODUCTION = f"""# Many labels

`python benchmarks/many_labels.py --data DATA`: pieces of newsgroup messages and of Reuters news, with rare words as
labels; from half of its documents, the word is removed. Ours is
`GraftTextClassifier(Grafting(l1=2.0), analyzer="word", multilabel=True)`. fastText has one logistic loss a label
(`ova`, 100 dimensions, 25 epochs, learning rate 0.2), LinearSVC tf-idf of words and C = 1, one label after the other.
Micro-F1 is of {TESTED // 2:,} test documents, at the one threshold that is best for {TESTED // 2:,} others. CPU seconds
and the peak of resident memory are of training; documents a second, of predicting the labels of test documents, one
core.
"""


@dataclass(frozen=True)
class Part:
    """Texts, and their labels as numbers."""

    texts: list[str]
    labels: list[list[int]]


def parts_of(data: Path, size: Size) -> tuple[Part, Part]:
    """The training and the test documents."""
    n = size.documents + TESTED
    pieces = list(pieces_of(data, size.characters))
    pieces = pieces[:: len(pieces) // n][:n]
    words = [{word for word in WORD.findall(piece) if len(word) >= SHORTEST} for piece in pieces]
    df = Counter(word for of_piece in words for word in of_piece)
    rare = (word for word in df if df[word] <= size.share * n)
    chosen = sorted(rare, key=lambda word: (-df[word], word))[: size.labels]
    numbers = {word: k for k, word in enumerate(chosen)}
    texts = [hidden(piece, i, numbers) for i, piece in enumerate(pieces)]
    labels = [sorted(numbers[word] for word in of_piece if word in numbers) for of_piece in words]
    # Every tenth or so is a test document.
    test = np.zeros(n, np.bool_)
    test[np.linspace(0, n - 1, TESTED).astype(int)] = True
    train, tested = (
        Part([texts[i] for i in rows], [labels[i] for i in rows])
        for rows in (np.flatnonzero(~test), np.flatnonzero(test))
    )
    return train, tested


def pieces_of(data: Path, characters: int) -> Iterator[str]:
    """Texts of so many characters, in lower case."""
    for name in SETS:
        for split in ("train", "test"):
            for record in read_jsonl(data / name / f"{split}.jsonl.gz"):
                piece: list[str] = []
                for word in record["text"].lower().split():
                    piece.append(word)
                    if sum(map(len, piece)) + len(piece) >= characters:
                        yield " ".join(piece)
                        piece = []
                if sum(map(len, piece)) + len(piece) >= characters // 3:
                    yield " ".join(piece)


def hidden(piece: str, number: int, labels: dict[str, int]) -> str:
    """A text without half of the words that are labels."""

    def rest(match: re.Match[str]) -> str:
        word = match[0]
        return "" if word in labels and zlib.crc32(f"{number} {word}".encode()) % 2 else word

    return " ".join(WORD.sub(rest, piece).split())


def one_cell(data: Path, size: Size, method: str) -> Iterator[Any]:
    """Train and test a method, in a process of its own."""
    train, test = parts_of(data, size)
    trained, scores_of, predicted, bytes_of = {"ours": ours, "fastText": fast_text, "LinearSVC": svm}[method]()
    yield None
    forget_peak()
    start = time.process_time()
    try:
        model = trained(train, size.labels)
    except RuntimeError as error:  # what fastText raises when it diverges
        yield {"failed": str(error)}
        return
    seconds, memory = time.process_time() - start, peak_megabytes()
    predicted(model, test.texts[:AT_A_TIME])
    start = time.process_time()
    predicted(model, test.texts[: TESTED // 2])
    speed = TESTED // 2 / (time.process_time() - start)
    yield {
        "cpu": seconds, "megabytes": memory, "speed": speed, "bytes": bytes_of(model),
        "f1": micro_f1(scores_of, model, test, size.labels), **getattr(model, "figures", {}),
    }  # fmt: skip


def ours() -> tuple[Any, ...]:
    from spacy_graft import Grafting, GraftTextClassifier

    class Model:
        def __init__(self, train: Part) -> None:
            learner = Grafting(l1=2.0)
            self.own = GraftTextClassifier(learner, analyzer="word", multilabel=True).fit(train.texts, train.labels)
            report = self.own.report
            self.figures = {"features": report.n_active, "weights": report.n_pairs, "gap": report.relative_gap}

    def scores(model: Model, texts: list[str], n_labels: int) -> np.ndarray:
        found = np.full((len(texts), n_labels), -np.inf, np.float32)
        found[:, model.own.classes_] = model.own.decision_function(texts)
        return found

    def size(model: Model) -> int:
        with tempfile.TemporaryDirectory() as folder:
            model.own.save(Path(folder) / "model")
            return (Path(folder) / "model").stat().st_size

    return lambda train, n: Model(train), scores, lambda model, texts: model.own.predict(texts), size


def svm() -> tuple[Any, ...]:
    import pickle

    import scipy.sparse
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    class Model:
        def __init__(self, train: Part, n_labels: int) -> None:
            self.vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
            matrix = self.vectorizer.fit_transform(train.texts)
            documents = np.repeat(np.arange(len(train.labels)), list(map(len, train.labels)))
            columns = np.array([k for row in train.labels for k in row])
            targets = scipy.sparse.csc_array(
                (np.ones(len(columns)), (documents, columns)), (len(train.labels), n_labels)
            )
            self.weights = np.zeros((matrix.shape[1], n_labels), np.float32)
            self.intercepts = np.full(n_labels, -1.0)
            for k in range(n_labels):
                target = targets[:, [k]].toarray().ravel()
                if 0.0 < target.sum() < len(target):
                    one = LinearSVC(C=1.0).fit(matrix, target)
                    self.weights[:, k], self.intercepts[k] = one.coef_[0], one.intercept_[0]

    def scores(model: Model, texts: list[str], n_labels: int) -> np.ndarray:
        return (model.vectorizer.transform(texts) @ model.weights + model.intercepts).astype(np.float32)

    def predicted(model: Model, texts: list[str]) -> None:
        for first in range(0, len(texts), AT_A_TIME):
            np.nonzero(scores(model, texts[first : first + AT_A_TIME], 0) >= 0.0)

    return Model, scores, predicted, lambda model: len(pickle.dumps((model.vectorizer, model.weights)))


def fast_text() -> tuple[Any, ...]:
    import fasttext

    def trained(train: Part, n_labels: int) -> Any:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf8") as file:
            for text, labels in zip(train.texts, train.labels, strict=True):
                file.write(" ".join([*(f"__label__{k}" for k in labels), text]) + "\n")
            file.flush()
            return fasttext.train_supervised(
                file.name, loss="ova", lr=0.2, epoch=25, dim=100, minCount=2, thread=1, verbose=0
            )

    def scores(model: Any, texts: list[str], n_labels: int) -> np.ndarray:
        found = np.full((len(texts), n_labels), -np.inf, np.float32)
        for i, text in enumerate(texts):
            for probability, label in model.f.predict(f"{text}\n", n_labels, 0.0, "strict"):
                found[i, int(label.removeprefix("__label__"))] = probability
        return found

    def predicted(model: Any, texts: list[str]) -> None:
        for text in texts:
            model.f.predict(f"{text}\n", -1, 0.5, "strict")

    def size(model: Any) -> int:
        with tempfile.TemporaryDirectory() as folder:
            model.save_model(f"{folder}/model")
            return Path(folder, "model").stat().st_size

    return trained, scores, predicted, size


def micro_f1(scores_of: Any, model: Any, test: Part, n_labels: int) -> float:
    """Micro-F1 of the second half of the documents, at the threshold that is best for the first half."""
    halves = []
    for begin in (0, TESTED // 2):
        high, right = [], []
        for first in range(begin, begin + TESTED // 2, AT_A_TIME):
            rows = slice(first, first + AT_A_TIME)
            scores = scores_of(model, test.texts[rows], n_labels)
            targets = np.zeros(scores.shape, np.bool_)
            for i, labels in enumerate(test.labels[rows]):
                targets[i, labels] = True
            # Lower ones are in no prediction that could be the best.
            chosen = scores >= np.partition(scores, -4 * int(targets.sum()) // len(scores) - 1, axis=None)[0]
            kept = np.argsort(-scores[chosen], kind="stable")[: 10 * int(targets.sum())]
            high.append(scores[chosen][kept])
            right.append(targets[chosen][kept])
        n_positive = sum(map(len, test.labels[begin : begin + TESTED // 2]))
        halves.append((np.concatenate(high), np.concatenate(right), n_positive))
    thresholds = np.quantile(halves[0][0], np.linspace(0.0, 1.0, TRIED))
    return f1(*halves[1], max(thresholds, key=lambda threshold: f1(*halves[0], threshold)))


def f1(scores: np.ndarray, right: np.ndarray, n_positive: int, threshold: float) -> float:
    """F1 of all pairs of a document and a label whose scores reach a threshold."""
    predicted = scores >= threshold
    return float(2.0 * right[predicted].sum() / (predicted.sum() + n_positive))


def rows(kept: dict[str, Any]) -> Iterator[list[str]]:
    """The lines of the table."""
    for size in SIZES:
        for name in METHODS:
            cell = kept.get(f"{size.labels} {name}")
            if cell is not None and "failed" in cell:
                yield [f"{size.labels:,} × {size.documents:,}", name, f"ends: {cell['failed']}", *[""] * 5]
            elif cell is not None:
                yield [
                    f"{size.labels:,} × {size.documents:,}", name, f"{cell['cpu']:,.0f}", f"{cell['megabytes']:,.0f}",
                    f"{100 * cell['f1']:.1f}%", f"{cell['bytes'] / 1e6:,.1f}", f"{cell['speed']:,.0f}",
                    f"{cell['weights']:,}" if "weights" in cell else "",
                ]  # fmt: skip


def write(path: Path) -> None:
    """The page."""
    kept = load_results(path)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print(f"{INTRODUCTION}\n{machine()}\n")
        print_rows(HEADER, rows(kept))
    write_page(beside(path, ".md"), text.getvalue())


def main(
    data: DataFolder,
    labels: Annotated[int, typer.Option(help="Only the set with so many labels; 0: all.")] = 0,
    method: Annotated[str, typer.Option(help="Names of methods, separated by commas.")] = ",".join(METHODS),
    results: Annotated[Path, typer.Option(help="Where results are.")] = HERE / "many_labels.json.gz",
) -> None:
    """Measure what is missing, and write the page."""
    need("fasttext", "sklearn")
    pin_threads()
    for size in SIZES:
        for name in METHODS:
            key = f"{size.labels} {name}"
            if labels in (0, size.labels) and name in method.split(",") and key not in load_results(results):
                run = measured(one_cell, data, size, name)
                with updated_results(results) as kept:
                    kept[key] = run.result
    write(results)


if __name__ == "__main__":
    typer.run(main)
