"""GraftTextClassifier on strings that no tokenizer has touched, beside scikit-learn and fastText.

    python benchmarks/strings.py --data DATA [--only files,dna] [--again]

Kinds of files by their first bytes (files of this machine), languages by their characters (translations of this
machine), text messages, film reviews, and reads of nucleic acids with planted motifs; then 100 MB, a million texts, one
text of 100 MB, and the speed of predictions. Each cell is measured in a process of its own and stored at once in
strings.json.gz beside this file, so that a second run does only what is missing; strings.md is written from it.
"""

from __future__ import annotations

import contextlib
import gettext
import io
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from common import (
    DataFolder,
    Died,
    beside,
    load_results,
    machine,
    measured,
    need,
    pin_threads,
    print_rows,
    replace_file,
    texts_and_labels,
    updated_results,
)
from growth import grown

HERE = Path(__file__).parent
KEPT = HERE / "strings.json.gz"
Result = dict[str, Any]

#: Kinds of files by the endings of their names, where they are looked for, and what is read of each.
KINDS = ("py", "pyc", "so", "html", "png", "gz", "h", "json", "xml", "js", "svg", "mo", "a")
FOLDERS = (Path("/usr"), Path(sys.base_prefix), Path(sys.prefix))
BYTES, FILES_TRAIN, FILES_TEST = 4096, 100, 50
#: Messages of a language: trained on and tested with; how many languages, and the least length.
MESSAGES_TRAIN, MESSAGES_TEST, LANGUAGES, LEAST_LENGTH = 300, 100, 20, 20
TRANSLATIONS = Path("/usr/share/locale")
#: Planted in reads of class 1, 2 and 3, on either strand; those of class 0 have none.
MOTIFS = ("TTGACATA", "GGCCAATCTGAC", "ATGCATTCGGATACCTTGCA")
READS, READ_LENGTH = 2400, 300
#: Memory that a peer may take, in GB.
LIMIT = 8.0
#: CPU seconds for which predictions are repeated.
REPEATED = 1.0


class Task(NamedTuple):
    """Documents and labels."""

    train: list[Any]
    train_labels: list[Any]
    test: list[Any]
    test_labels: list[Any]


@cache
def found_files() -> dict[str, list[Path]]:
    """Files of each kind, in an order that is drawn."""
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for folder in dict.fromkeys(FOLDERS):
        for path in sorted(folder.rglob("*")):
            kind = path.suffix[1:]
            if kind in found and path.is_file() and not path.is_symlink() and path.stat().st_size >= BYTES // 4:
                found[kind].append(path)
    for paths in found.values():
        random.Random(0).shuffle(paths)
    return found


def files(data: Path) -> Task:
    """The first bytes of files, all different; kinds of which there are enough."""
    train, test, seen = [], [], set()
    for kind, paths in found_files().items():
        heads = []
        for path in paths:
            with path.open("rb") as file:
                head = file.read(BYTES)
            if head not in seen:
                seen.add(head)
                heads.append((head, kind))
            if len(heads) == FILES_TRAIN + FILES_TEST:
                train += heads[:FILES_TRAIN]
                test += heads[FILES_TRAIN:]
                break
    return task_of(train, test)


def languages(data: Path) -> Task:
    """Translated messages. One and the same message, in all languages, is either trained on or tested with."""
    by_language: dict[str, dict[str, str]] = {}
    for path in sorted(TRANSLATIONS.glob("*/LC_MESSAGES/*.mo")):
        language = path.parts[-3]
        if len(language) > 3 or path.name.startswith("iso_"):
            continue
        with contextlib.suppress(UnicodeDecodeError, IndexError, OSError), path.open("rb") as file:
            catalogue = vars(gettext.GNUTranslations(file))["_catalog"]
            for message, translated in catalogue.items():
                if isinstance(message, str) and isinstance(translated, str) and len(translated) >= LEAST_LENGTH:
                    by_language.setdefault(language, {})[message] = translated
    count = Counter(text for messages in by_language.values() for text in set(messages.values()))
    train, test = [], []
    for language in sorted(by_language, key=lambda name: (-len(by_language[name]), name))[:LANGUAGES]:
        # What several languages have is no translation.
        pairs = sorted((message, text) for message, text in by_language[language].items() if count[text] == 1)
        random.Random(language).shuffle(pairs)
        parts: tuple[list[str], list[str]] = [], []
        for message, text in pairs:
            parts[sum(message.encode()) % 4 == 0].append(text)
        train += [(text, language) for text in parts[0][:MESSAGES_TRAIN]]
        test += [(text, language) for text in parts[1][:MESSAGES_TEST]]
    return task_of(train, test)


def reads(data: Path) -> Task:
    """Random reads of nucleic acids, with motifs or their reverse complements at random places."""
    rng = random.Random(0)
    complements = str.maketrans("ACGT", "TGCA")
    pairs = []
    for i in range(READS):
        text, label = "".join(rng.choices("ACGT", k=READ_LENGTH)), i % (len(MOTIFS) + 1)
        if label:
            motif = MOTIFS[label - 1]
            place = rng.randrange(READ_LENGTH)
            text = text[:place] + (motif[::-1].translate(complements) if rng.random() < 0.5 else motif) + text[place:]
        pairs.append((text, str(label)))
    return task_of(pairs[: READS // 2], pairs[READS // 2 :])


def task_of(train: Sequence[tuple[Any, Any]], test: Sequence[tuple[Any, Any]]) -> Task:
    """Documents and labels apart."""
    return Task([x for x, _ in train], [y for _, y in train], [x for x, _ in test], [y for _, y in test])


def set_of(name: str) -> Callable[[Path], Task]:
    """A data set."""
    return lambda data: Task(*texts_and_labels(data, name), *texts_and_labels(data, name, "test"))


TASKS: dict[str, tuple[str, Callable[[Path], Task]]] = {
    "files": ("Kinds of files by their first 4 kB", files),
    "languages": ("Language of a message by its characters", languages),
    "messages": ("Text messages: spam or not (sms_spam)", set_of("sms_spam")),
    "reviews": ("Film reviews: positive or negative (movie_reviews)", set_of("movie_reviews")),
    "dna": ("Reads of nucleic acids with a planted motif", reads),
}


def ours(l1: float | None = None, **options: Any) -> Any:
    """Our classifier, over characters or bytes without ends, with the default learner or at an L1 strength."""
    from spacy_graft import Grafting, GraftTextClassifier

    options = {"analyzer": "char", **options}
    if "reverse_complement" not in options:
        options["ends"] = False
    return GraftTextClassifier(None if l1 is None else Grafting(l1=l1), **options)


def counted(model: str, **options: Any) -> Any:
    """A CountVectorizer before a linear model; bytes are read as characters."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    classifier = LogisticRegression(max_iter=1000) if model == "LogisticRegression" else LinearSVC()
    return make_pipeline(CountVectorizer(encoding="latin-1", **options), classifier)


class FastText:
    """fastText with a file in between, as its users have it."""

    def __init__(self, **options: Any) -> None:
        self.options = {"epoch": 25, "lr": 0.5, "bucket": 200_000, "thread": 1, "verbose": 0, **options}

    def fit(self, texts: list[Any], labels: list[Any]) -> FastText:
        """Train."""
        fasttext = import_module("fasttext")
        path = HERE / f".fasttext.{time.process_time_ns()}"
        lines = (f"__label__{label} {one_line(text)}\n" for text, label in zip(texts, labels, strict=True))
        path.write_text("".join(lines), "utf8")
        try:
            self.model = fasttext.train_supervised(str(path), **self.options)
        finally:
            path.unlink()
        return self

    def predict(self, texts: list[Any]) -> list[str]:
        """The label of each text."""
        # Without the wrapper, which this numpy does not take.
        found = [self.model.f.predict(one_line(text) + "\n", 1, 0.0, "strict") for text in texts]
        return [answer[0][1].removeprefix("__label__") for answer in found]


def one_line(text: Any) -> str:
    """A text without line breaks; a word for each byte."""
    return " ".join(map(str, text)) if isinstance(text, bytes) else " ".join(text.lower().split())


#: By task: what each row is called, and its model.
METHODS: dict[str, dict[str, Callable[[], Any]]] = {
    "files": {
        "GraftTextClassifier(analyzer='byte', ends=False)": lambda: ours(analyzer="byte"),
        "GraftTextClassifier(Grafting(l1=1.0), analyzer='byte', ends=False)": lambda: ours(1.0, analyzer="byte"),
        **{
            f"byte n-grams, n = {n if low == n else f'{low} to {n}'}, LinearSVC": lambda low=low, n=n: counted(
                "LinearSVC", analyzer="char", lowercase=False, ngram_range=(low, n), binary=True
            )
            for low, n in ((1, 1), (2, 2), (4, 4), (8, 8), (1, 4), (1, 8))
        },
        "fastText, bytes as words, n = 1 to 4": lambda: FastText(wordNgrams=4),
    },
    "languages": {
        "GraftTextClassifier(analyzer='char', ends=False)": ours,
        "GraftTextClassifier(Grafting(l1=1.0), analyzer='char', ends=False)": lambda: ours(1.0),
        "characters, n = 1 to 4, LogisticRegression": lambda: counted(
            "LogisticRegression", analyzer="char", ngram_range=(1, 4), binary=True
        ),
        "characters, n = 1 to 4, LinearSVC": lambda: counted(
            "LinearSVC", analyzer="char", ngram_range=(1, 4), binary=True
        ),
        "words, LogisticRegression": lambda: counted("LogisticRegression"),
        "fastText, characters of words, n = 2 to 4": lambda: FastText(minn=2, maxn=4),
    },
    "messages": {
        "GraftTextClassifier(analyzer='char', ends=False)": ours,
        "GraftTextClassifier(Grafting(l1=1.0), analyzer='char', ends=False)": lambda: ours(1.0),
        "characters, n = 1 to 5, LogisticRegression": lambda: counted(
            "LogisticRegression", analyzer="char", ngram_range=(1, 5), binary=True
        ),
        "characters, n = 1 to 5, LinearSVC": lambda: counted(
            "LinearSVC", analyzer="char", ngram_range=(1, 5), binary=True
        ),
        "words, LogisticRegression": lambda: counted("LogisticRegression"),
        "fastText, words, n = 1 to 2": lambda: FastText(wordNgrams=2),
    },
    "reviews": {
        "GraftTextClassifier(min_df=5, analyzer='char', ends=False)": lambda: ours(min_df=5),
        "GraftTextClassifier(Grafting(l1=10.0), min_df=5, analyzer='char', ends=False)": lambda: ours(10.0, min_df=5),
        "GraftTextClassifier(analyzer=['word', 'char_wb'], min_df=5, penalty_factor=[1.0, 1.5])": lambda: ours(
            analyzer=["word", "char_wb"], min_df=5, penalty_factor=[1.0, 1.5]
        ),
        "characters, n = 1 to 5, LogisticRegression": lambda: counted(
            "LogisticRegression", analyzer="char", ngram_range=(1, 5), binary=True, min_df=5
        ),
        "words, LogisticRegression": lambda: counted("LogisticRegression"),
        "words, n = 1 to 2, LinearSVC": lambda: counted("LinearSVC", ngram_range=(1, 2), binary=True),
        "fastText, words, n = 1 to 2": lambda: FastText(wordNgrams=2),
    },
    "dna": {
        "GraftTextClassifier(reverse_complement=True, analyzer='char')": lambda: ours(reverse_complement=True),
        "GraftTextClassifier(Grafting(l1=10.0), reverse_complement=True, analyzer='char')": lambda: ours(
            10.0, reverse_complement=True
        ),
        **{
            f"k-mers, k = {k}, LinearSVC": lambda k=k: counted(
                "LinearSVC", analyzer="char", ngram_range=(k, k), binary=True
            )
            for k in (4, 6, 8, 12)
        },
        "k-mers, k = 1 to 8, LogisticRegression": lambda: counted(
            "LogisticRegression", analyzer="char", ngram_range=(1, 8), binary=True
        ),
        "fastText, characters, n = 2 to 8": lambda: FastText(minn=2, maxn=8),
    },
}


def trained(task: str, method: str, data: Path) -> Iterator[Result]:
    """Train a method, and test it."""
    documents = TASKS[task][1](data)
    model = METHODS[task][method]()
    if method.startswith("fastText"):
        import_module("fasttext")
    else:
        # What is compiled or imported at first use.
        few = random.Random(0).sample(range(len(documents.train)), 60)
        texts, labels = [documents.train[i] for i in few], [documents.train_labels[i] for i in few]
        METHODS[task][method]().fit(texts, labels).predict(documents.test[:2])
    limit = int(LIMIT * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (limit + 4 * 10**9, resource.RLIM_INFINITY))
    yield {}
    start = time.process_time()
    try:
        model.fit(documents.train, documents.train_labels)
    except MemoryError:
        yield {"error": f"more than {LIMIT:.0f} GB"}
        return
    seconds = time.process_time() - start
    right = np.array(list(model.predict(documents.test))) == np.array(documents.test_labels)
    found: Result = {"train": len(documents.train), "test": len(right), "labels": len(set(documents.train_labels)),
                     "characters": sum(map(len, documents.train)), "seconds": seconds, "right": float(right.mean()),
                     "features": n_features(model), "predict": repeated(model, documents.test)}  # fmt: skip
    if hasattr(model, "report_"):
        found["gap"] = model.report_.relative_gap
    if task == "dna" and hasattr(model, "features"):
        found["motifs"] = motifs_found(model)
    yield found


def repeated(model: Any, documents: list[Any]) -> float:
    """CPU seconds of a prediction for a document, the median of several passes."""
    passes = []
    while sum(passes) < REPEATED or len(passes) < 3:
        start = time.process_time()
        model.predict(documents)
        passes.append(time.process_time() - start)
    return float(np.median(passes)) / len(documents)


def n_features(model: Any) -> int | None:
    """Features with a weight; unknown for fastText."""
    if isinstance(model, FastText):
        return None
    if hasattr(model, "steps"):
        return len(model[0].vocabulary_)
    return int(model.coef_.shape[1])


def motifs_found(model: Any) -> list[str]:
    """The planted motifs that are the longest form of a feature, on either strand."""
    complements = str.maketrans("ACGT", "TGCA")
    longest = {feature.longest.upper() for feature in model.features()}
    longest |= {text[::-1].translate(complements) for text in longest}
    return [motif for motif in MOTIFS if motif in longest]


#: By size: what is trained on, and with which options.
SIZES: dict[str, tuple[Callable[[Path], tuple[list[Any], list[Any]]], dict[str, Any]]] = {}


def sized(name: str, **options: Any) -> Callable[..., Any]:
    """Register documents of a size."""

    def register(documents: Callable[[Path], tuple[list[Any], list[Any]]]) -> Any:
        SIZES[name] = documents, options
        return documents

    return register


def by_topic(data: Path, megabytes: int) -> tuple[list[str], list[str]]:
    """Messages of newsgroups, repeated with invented words; two labels (computers or not)."""
    found = list(grown(data, megabytes))
    return [text for text, _ in found], [str(label.startswith("comp")) for _, label in found]


@sized("100 MB of characters (messages)", l1=60.0, min_df=5)
def messages_of_100_mb(data: Path) -> tuple[list[Any], list[Any]]:
    return by_topic(data, 100)


@sized("100 MB of characters (messages), a weaker penalty", l1=30.0, min_df=5)
def messages_of_100_mb_with_a_weaker_penalty(data: Path) -> tuple[list[Any], list[Any]]:
    return by_topic(data, 100)


@sized("10 MB of messages, the default learner", min_df=5)
def messages_of_10_mb(data: Path) -> tuple[list[Any], list[Any]]:
    return by_topic(data, 10)


@sized("100 MB of bytes (files of this machine)", l1=10.0, min_df=5, analyzer="byte")
def files_of_100_mb(data: Path) -> tuple[list[Any], list[Any]]:
    """Python's sources, or not."""
    heads, labels, size = [], [], 0
    paths = [(path, kind == "py") for kind, paths in found_files().items() for path in paths]
    random.Random(0).shuffle(paths)
    for path, label in paths:
        with path.open("rb") as file:
            heads.append(file.read(4 * BYTES))
        labels.append(label)
        size += len(heads[-1])
        if size >= 10**8:
            break
    return heads, labels


@sized("a million texts of 40 characters", l1=1000.0, min_df=5)
def a_million(data: Path) -> tuple[list[Any], list[Any]]:
    """Pieces of messages."""
    texts, labels = by_topic(data, 45)
    pieces = [(text[i : i + 40], label) for text, label in zip(texts, labels, strict=True)
              for i in range(0, len(text), 40)]  # fmt: skip
    pieces = pieces[: 10**6]
    return [text for text, _ in pieces], [label for _, label in pieces]


@sized("one text of 100 MB, and 1,000 of 1 kB", l1=5.0, min_df=5)
def one_text(data: Path) -> tuple[list[Any], list[Any]]:
    """A text of everything, with the label of half of the others."""
    every = "\r\n\0".join(text for text, _ in grown(data, 100))
    return [every, *(every[1000 * i : 1000 * (i + 1)] for i in range(1000))], [0, *([0, 1] * 500)]


def of_size(name: str, data: Path) -> Iterator[Result]:
    """Train on much, from an iterator of documents, and predict all of them again."""
    documents, options = SIZES[name]
    texts, labels = documents(data)
    ours(**options).fit(texts[-200:], labels[-200:]).predict(texts[-2:])
    model = ours(**options)
    yield {}
    start = time.process_time()
    model.fit(iter(texts), labels)
    fitted = time.process_time()
    model.predict(iter(texts))
    report = model.report_
    yield {"documents": len(texts), "characters": sum(map(len, texts)), "seconds": fitted - start,
           "predict": time.process_time() - fitted, "features": n_features(model), "gap": report.relative_gap,
           "columns": report.n_columns}  # fmt: skip


def table_of(task: str, cells: dict[str, Result]) -> None:
    """The rows of a task."""
    title = TASKS[task][0]
    known = next((cell for cell in cells.values() if "train" in cell), None)
    if known is None:
        return
    print(f"\n## {title}\n\n{known['labels']} labels, {known['train']:,} documents of {known['characters']:,} "
          f"characters or bytes to train, {known['test']:,} to test.\n")  # fmt: skip
    header = ["method", "correct", "fit, CPU s", "MB", "predict, µs a document", "features"]
    print_rows([*header, "motifs found exactly"] if task == "dna" else header,
               [row_of(task, method, cells[method]) for method in METHODS[task] if method in cells])  # fmt: skip


def row_of(task: str, method: str, cell: Result) -> list[str]:
    """A row of a table."""
    name = f"`{method}`" if method.startswith("Graft") else method
    if "error" in cell:
        return [name, cell["error"], "", "", "", "", *([""] if task == "dna" else [])]
    row = [name, f"{cell['right']:.1%}", f"{cell['seconds']:.1f}", f"{cell['megabytes']:,.0f}",
           f"{cell['predict'] * 1e6:,.1f}", "" if cell["features"] is None else f"{cell['features']:,}"]  # fmt: skip
    return [*row, ", ".join(cell.get("motifs", []))] if task == "dna" else row


def print_page(results: Result) -> None:
    """All tables."""
    print(INTRODUCTION.strip())
    print(f"\n{results.get('machine', '')}")
    for task in TASKS:
        table_of(task, results.get(task, {}))
    sizes = results.get("sizes", {})
    if sizes:
        print("\n## 100 MB, a million texts, and one text\n")
        header = ("documents", "number", "M characters or bytes", "`GraftTextClassifier` with", "fit, CPU s", "MB",
                  "bytes a character", "predict, CPU s", "columns", "features", "gap / F(0)")  # fmt: skip
        print_rows(header, [size_row(name, sizes[name]) for name in SIZES if name in sizes])


def size_row(name: str, cell: Result) -> list[str]:
    """A row of the table of sizes."""
    options = ", ".join(
        f"Grafting(l1={value})" if option == "l1" else f"{option}={value!r}" for option, value in SIZES[name][1].items()
    )
    if "error" in cell:
        return [name, "", "", f"`{options}`", cell["error"], "", "", "", "", "", ""]
    return [name, f"{cell['documents']:,}", f"{cell['characters'] / 1e6:.1f}", f"`{options}`",
            f"{cell['seconds']:.1f}", f"{cell['megabytes']:,.0f}",
            f"{cell['megabytes'] * 1e6 / cell['characters']:.0f}", f"{cell['predict']:.1f}",
            f"{cell['columns']:,}", f"{cell['features']:,}", f"{cell['gap']:.0e}"]  # fmt: skip


INTRODUCTION = """
# Strings that no tokenizer has touched

`python benchmarks/strings.py --data DATA`

`GraftTextClassifier` over characters or bytes with its default learner, and with one fixed L1 strength, beside what its
users have otherwise: `CountVectorizer` with n-grams up to a fixed length before `LogisticRegression` or `LinearSVC`,
all with their default strength (C = 1), and fastText (25 epochs, learning rate 0.5). With its default learner,
`GraftTextClassifier` chooses size and strength by cross-validation while it is trained; the others do not choose, which
makes them faster to train. Each row is a process of its own: CPU seconds after imports, reading and compilation, and
memory above what was held then. Files, translations and their numbers are those of the machine; the reads are made by
the script. Rows of `Grafting` are of rounds of 100 pairs (`n_best=100`). By rounds that double the model, the default,
languages take 1.5 s; messages, reviews and reads take as long as here. Files, reviews, reads and sizes are of
2026-11-26; the default model of files had n-grams of two documents then, where it now has those of three. Languages and
messages are of 2026-11-30, a slower day.
"""


def measure(function: Callable[..., Iterator[Result]], *arguments: Any) -> Result:
    """A cell."""
    try:
        run = measured(function, *arguments)
    except Died as error:
        if error.exit_code != -signal.SIGKILL:
            raise
        return {"error": f"more than {LIMIT:.0f} GB"}
    return {**run.result, "megabytes": run.megabytes}


def main(
    data: DataFolder,
    only: Annotated[str, typer.Option(help="Tasks, or 'sizes', separated by commas.")] = ",".join([*TASKS, "sizes"]),
    rows: Annotated[str, typer.Option(help="Only rows that have this in their names.")] = "",
    again: Annotated[bool, typer.Option(help="Measure again what has been measured.")] = False,
) -> None:
    """Measure what is missing, and write the page."""
    need("sklearn")
    pin_threads()
    cells: list[tuple[str, str, Callable[..., Iterator[Result]], tuple[Any, ...]]] = []
    for task in only.split(","):
        if task == "sizes":
            cells += [("sizes", name, of_size, (name, data)) for name in SIZES]
        else:
            cells += [(task, method, trained, (task, method, data)) for method in METHODS[task]]
    for group, name, function, arguments in cells:
        if rows not in name or (name in load_results(KEPT).get(group, {}) and not again):
            continue
        if name.startswith("fastText") and find_spec("fasttext") is None:
            print("fastText is not installed: its rows are left out.", file=sys.stderr)
            continue
        cell = measure(function, *arguments)
        print(group, name, cell, flush=True)
        with updated_results(KEPT) as results:
            results.setdefault(group, {})[name] = cell
            results["machine"] = machine()
    page = io.StringIO()
    with contextlib.redirect_stdout(page):
        print_page(load_results(KEPT))
    replace_file(beside(KEPT, ".md"), page.getvalue().encode())


if __name__ == "__main__":
    typer.run(main)
