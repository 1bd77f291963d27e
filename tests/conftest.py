"""A small corpus, and a pipeline trained on it by ``spacy train``."""

from __future__ import annotations

import os

# Before NumPy and SciPy are loaded: on matrices as small as those of the tests, threads of BLAS mostly wait for each
# other (the tests of grafting take five times as long with two).
os.environ.setdefault("OMP_NUM_THREADS", "1")
# What is printed is compared as plain text, also on machines that ask for colours.
os.environ.pop("FORCE_COLOR", None)

import gzip
import json
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import catalogue
import numpy as np
import pytest
import spacy
import typer.testing
from hypothesis import settings
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.tokens.underscore import Underscore
from spacy.training import Example

import forks
from spacy_graft.extract.terms import FeatureTerms
from spacy_graft.graft.solution import Solution
from spacy_graft.held_out import MANY_DOCUMENTS
from spacy_graft.model.sealing import seal, unseal
from spacy_graft.pipeline.textcat import TextCatGraft

# A twelfth of the time of all tests without these two: spaCy looks through the entry points of all packages whenever
# it looks something up, and typer makes the commands anew for each call.
FOUND = catalogue.AVAILABLE_ENTRY_POINTS
catalogue.AVAILABLE_ENTRY_POINTS = {group: list(FOUND.select(group=group)) for group in FOUND.groups}
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]

#: Compilation is not an example's fault; ``quick`` is for runs without the compiler or without slow tests. Both try the
#: same examples each time, so that a change is judged by what it changes; ``search`` looks for new ones.
settings.register_profile("graft", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("search", deadline=None, max_examples=500)

REPOSITORY = Path(__file__).parents[1]
CONFIG = REPOSITORY / "configs" / "ngrams.cfg"
#: Words that tell the label; the phrases are made of common words, so that n-grams have something to say.
TELLING = {
    "food": ["the soup of the day", "salt", "a spoon of sugar", "baked", "roast potatoes"],
    "music": ["the song of the year", "violin", "a choir of boys", "in a minor key", "drums"],
    "sport": ["the match of the season", "goal", "a team of eleven", "extra time", "referee"],
}
COMMON = "the of a in and it was there with some more than we had before they came to see what".split()
#: Few points, so that a fit takes no time.
PATH: dict[str, Any] = {
    "@graft_learners": "spacy_graft.GraftingPath.v1",
    "steps": 6,
    "l1_min_ratio": 0.05,
    "refit": 2.0,
}
WORDS = {"words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": 2}}

Record = dict[str, Any]


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples hypothesis tries; test modules, which may want fewer, are imported later."""
    profile = "quick" if "not slow" in config.option.markexpr else "graft"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))


@pytest.fixture(autouse=True)
def extensions_of_tests() -> Iterator[None]:
    """Take away the extensions that a test sets: spaCy pickles them for its processes, except where these fork."""
    tables = Underscore.doc_extensions, Underscore.span_extensions, Underscore.token_extensions
    before = [table.copy() for table in tables]
    yield
    for table, known in zip(tables, before, strict=True):
        table.clear()
        table.update(known)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses the model of ``spacy train``, or data sets, is slow as well."""
    for item in items:
        if "training" in getattr(item, "fixturenames", ()) or item.get_closest_marker("data"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def dev_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dev chooses the model, however small it is: not the folds of all documents, which take most of the time."""
    monkeypatch.setattr("spacy_graft.pipeline.folds.MANY_DOCUMENTS", 0)


@pytest.fixture
def folds_too(dev_alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All as it is, in a module whose other tests have ``dev_alone``."""
    monkeypatch.setattr("spacy_graft.pipeline.folds.MANY_DOCUMENTS", MANY_DOCUMENTS)


def make_records(n: int, seed: int = 0) -> list[Record]:
    """Labelled texts, the labels in turn."""
    rng = random.Random(seed)
    labels = list(TELLING)
    records = []
    for i in range(n):
        label = labels[i % len(labels)]
        words = rng.choices(COMMON, k=10)
        for phrase in rng.choices(TELLING[label], k=2):
            words.insert(rng.randrange(len(words) + 1), phrase)
        records.append({"id": i, "text": " ".join(words), "label": label})
    return records


def one_hot(label: str) -> dict[str, float]:
    return {other: float(other == label) for other in TELLING}


def make_example(nlp: Language, text: str, cats: dict[str, Any]) -> Example:
    doc = nlp.make_doc(text)
    reference = doc.copy()
    reference.cats = cats
    return Example(doc, reference)


def make_examples(nlp: Language, records: Iterable[Record]) -> list[Example]:
    return [make_example(nlp, record["text"], one_hot(record["label"])) for record in records]


def component_of(nlp: Language) -> TextCatGraft:
    """The last component of a pipeline."""
    component = nlp.get_pipe(nlp.pipe_names[-1])
    assert isinstance(component, TextCatGraft)
    return component


def make_nlp(factory: str = "textcat_graft", **config: Any) -> Language:
    """A blank pipeline with one graft component over words.

    Its language has no rules of its own. Making or loading an English one takes five times as long: it compiles the
    1,300 exceptions of the tokenizer.
    """
    nlp = spacy.blank("xx")
    nlp.add_pipe(factory, config={"features": WORDS, "learner": PATH, **config})
    return nlp


def forged(data: bytes, **parts: Any) -> bytes:
    """The bytes of a component with other parts, and a digest that fits; values become JSON, None leaves a part out."""
    own, _ = unseal(data)
    for name, value in parts.items():
        own[name] = value if isinstance(value, bytes) else json.dumps(value).encode()
    return seal({name: part for name, part in own.items() if part != b"null"})


def recorded(function: Callable[..., Any], calls: list[Any]) -> Callable[..., Any]:
    """The function, which also appends its last argument to ``calls``."""

    def call(*arguments: Any) -> Any:
        calls.append(arguments[-1])
        return function(*arguments)

    return call


def write_jsonl(path: Path, records: Iterable[Any]) -> Path:
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def run(
    *arguments: object, check: bool = True, folder: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, on the installed package."""
    result = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder or tempfile.gettempdir(),
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    return checked(result) if check else result


def run_forked(
    *arguments: object, check: bool = True, folder: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Do as :func:`run` does, in a second less: where nothing depends on when spaCy is imported, and by whom."""
    if sys.platform != "linux":
        return run(*arguments, check=check, folder=folder, **environment)
    command = [str(argument) for argument in arguments]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    with tempfile.TemporaryDirectory() as place:
        files = Path(place, "output"), Path(place, "errors")
        code = forks.exit_code_of(command, folder or tempfile.gettempdir(), variables, *files)
        result = subprocess.CompletedProcess(command, code, *(path.read_text(encoding="utf-8") for path in files))
    return checked(result) if check else result


def run_project(*arguments: object, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """``spacy project run`` in this process, with its commands run by :func:`run_forked`."""
    from spacy.cli import app

    def run_command(command: list[str], **_: Any) -> None:
        result = run_forked(*command[1:], check=False, folder=os.getcwd(), **environment)
        print(result.stdout, end="")
        print(result.stderr, end="", file=sys.stderr)
        if result.returncode != 0:
            sys.exit(result.returncode)

    command = ["project", "run", *map(str, arguments)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weasel.cli.run.run_command", run_command)
        invoked = typer.testing.CliRunner().invoke(app, command)
    result = subprocess.CompletedProcess(command, invoked.exit_code, invoked.stdout, invoked.stderr)
    return checked(result) if check else result


def checked(result: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    if result.returncode != 0:
        raise AssertionError(f"{result.args} failed:\n{result.stdout}\n{result.stderr}")
    return result


@pytest.fixture(scope="session")
def train_records() -> list[Record]:
    return make_records(120, seed=0)


@pytest.fixture(scope="session")
def dev_records() -> list[Record]:
    return make_records(30, seed=1)


@pytest.fixture(scope="session")
def blank() -> Language:
    """A tokenizer; not to be changed."""
    return spacy.blank("xx")


@pytest.fixture
def nlp() -> Language:
    return make_nlp()


@pytest.fixture
def examples(nlp: Language, train_records: list[Record]) -> list[Example]:
    return make_examples(nlp, train_records)


@pytest.fixture
def dev(nlp: Language, dev_records: list[Record]) -> list[Example]:
    return make_examples(nlp, dev_records)


@pytest.fixture(scope="session")
def corpus(
    tmp_path_factory: pytest.TempPathFactory, blank: Language, train_records: list[Record], dev_records: list[Record]
) -> Path:
    """A folder with train.jsonl.gz, dev.jsonl, train.spacy and dev.spacy."""
    folder = tmp_path_factory.mktemp("corpus")
    write_jsonl(folder / "train.jsonl.gz", train_records)
    write_jsonl(folder / "dev.jsonl", dev_records)
    for name, records in (("train", train_records), ("dev", dev_records)):
        docs = [example.reference for example in make_examples(blank, records)]
        DocBin(docs=docs).to_disk(folder / f"{name}.spacy")
    return folder


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The syntax pipeline that ships."""
    (found,) = (REPOSITORY / "assets").glob("en_graft_syntax-*.whl")
    return found


@pytest.fixture(scope="session")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pipeline in the unpacked wheel."""
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / "en_graft_syntax" / wheel.name.removesuffix("-py3-none-any.whl")


@pytest.fixture(scope="session")
def training(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The output folder of ``spacy train`` with the shipped config, and what it printed."""
    output = tmp_path_factory.mktemp("training")
    result = run_forked(
        *("-m", "spacy", "train", CONFIG, "--output", output),
        *("--paths.train", corpus / "train.jsonl.gz", "--paths.dev", corpus / "dev.jsonl"),
        *("--training.max_steps", 18),
    )
    return output, result


@pytest.fixture(scope="session")
def model(training: tuple[Path, subprocess.CompletedProcess[str]]) -> Path:
    """The best model of that training."""
    return training[0] / "model-best"


@pytest.fixture(scope="session")
def fitted(train_records: list[Record]) -> Language:
    """A pipeline trained in this process; not to be changed."""
    return train_fully(make_nlp(), train_records)


def train_fully(nlp: Language, records: Iterable[Record]) -> Language:
    """Train as a loop would, to the end of the path."""
    examples = make_examples(nlp, records)
    nlp.initialize(lambda: examples)
    for _ in range(PATH["steps"]):
        nlp.update(examples[:8])
    return nlp


def empty_solution(n_labels: int) -> Solution:
    """A solution without features, with all scores 0."""
    none = FeatureTerms.of([])
    return Solution([], none, none, np.zeros(0, np.int32), np.zeros((0, n_labels)), np.zeros(n_labels), 0.0)
