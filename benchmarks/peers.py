"""Ours and its peers behind one interface: settings chosen on dev, then trained again on train and dev."""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from common import forget_peak

from spacy_graft.metrics import log_loss, logistic

REPOSITORY = Path(__file__).parents[1]
#: Where the kernels that commands compile are kept.
KERNELS = Path(os.environ.get("NUMBA_CACHE_DIR", Path.home() / ".cache" / "spacy-graft-benchmarks"))
#: CPU seconds up to which a command is run three times.
SHORT = 30.0

Settings = dict[str, Any]

#: C of scikit-learn's models.
STRENGTHS = tuple(10.0 ** (k / 2) for k in range(-4, 7))
#: Probabilities are at least so far from 0 and 1, for log-loss.
LEAST = 1e-15
#: Words, and punctuation marks as words of their own.
MARKS = r"(?u)\b\w+\b|[^\w\s]"
TOKENS = ("words", "words and marks")


@dataclass(frozen=True)
class Part:
    """Texts, and which labels hold: booleans (documents, labels)."""

    texts: list[str]
    targets: np.ndarray

    def __add__(self, other: Part) -> Part:
        return Part(self.texts + other.texts, np.vstack([self.targets, other.targets]))

    def __getitem__(self, index: np.ndarray) -> Part:
        return Part([self.texts[i] for i in index], self.targets[index])


@dataclass(frozen=True)
class Task:
    """What a method is trained on. Without dev, its default settings are used."""

    lang: str
    labels: tuple[str, ...]
    exclusive: bool
    train: Part
    dev: Part | None
    #: CPU seconds of the process after which nothing more is tried.
    deadline: float = math.inf

    @cached_property
    def everything(self) -> Part:
        return self.train if self.dev is None else self.train + self.dev

    def late(self) -> bool:
        return time.process_time() > self.deadline

    def score(self, predicted: np.ndarray) -> float:
        """What settings are chosen by on dev: macro-F1; for labels that do not exclude each other, with micro-F1."""
        assert self.dev is not None
        macro, micro = f1_scores(*counts(self.dev.targets, predicted))
        return float(macro if self.exclusive else (macro + micro) / 2)

    def loss(self, gold: np.ndarray, probabilities: np.ndarray) -> float:
        """Log-loss of a document; for labels that do not exclude each other, the mean over labels."""
        clipped = probabilities.clip(LEAST, 1.0 - LEAST)
        total = log_loss(clipped, gold.astype(np.float64), exclusive=self.exclusive)
        return total if self.exclusive else total / len(self.labels)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Booleans, from probabilities (documents, labels)."""
        return one_hot(scores.argmax(axis=1), len(self.labels)) if self.exclusive else scores >= 0.5


def one_hot(index: Sequence[int] | np.ndarray, n_labels: int) -> np.ndarray:
    return np.eye(n_labels, dtype=np.bool_)[np.asarray(index, np.intp)]


def counts(gold: np.ndarray, predicted: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """True positives, and gold plus predicted ones, by label; ``weights`` (resamples, documents) counts documents."""
    weights = np.ones((1, len(gold)), np.float32) if weights is None else weights
    both, total = (gold & predicted).astype(np.float32), gold.astype(np.float32) + predicted
    return np.squeeze(weights @ both), np.squeeze(weights @ total)


def f1_scores(hits: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Macro-F1 over the labels that are there or predicted, and micro-F1; labels on the last axis."""
    there = total > 0
    macro = (2 * hits / np.where(there, total, 1)).sum(axis=-1) / there.sum(axis=-1)
    return macro, 2 * hits.sum(axis=-1) / total.sum(axis=-1)


def units(task: Task, text: str) -> list[str]:
    """Characters of Chinese, else words and punctuation marks; for tools that split at blanks."""
    import re

    return [unit for unit in text if not unit.isspace()] if task.lang == "zh" else re.findall(MARKS, text.lower())


def size_on_disk(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


class Model(ABC):
    """What is trained."""

    #: The settings it was trained with, to be read.
    chosen: str = ""
    #: Whether the choice was cut off by the deadline.
    cut: bool = False
    #: Seconds and memory of a command, in place of those of this process.
    measured: Mapping[str, float] = MappingProxyType({})

    @abstractmethod
    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Booleans (documents, labels)."""

    def probabilities(self, texts: Sequence[str]) -> np.ndarray | None:
        """Float64 (documents, labels); None if the tool has none."""
        return None

    @abstractmethod
    def save(self, folder: Path) -> None:
        """As the tool itself saves it."""

    def n_features(self) -> int | None:
        """Features with a weight that is not zero; None where that says nothing."""
        return None


class Peer(ABC):
    """A method: the settings it tries, and how it is trained with given ones."""

    #: What it imports that is not installed with us.
    modules: ClassVar[tuple[str, ...]] = ()

    title: ClassVar[str]
    #: Whether the settings of the least log-loss on dev are kept as well.
    by_log_loss: ClassVar[bool] = False

    def __init__(self) -> None:
        #: Log-losses on dev, with the settings, where they are kept.
        self.losses: list[tuple[float, Settings]] = []

    def prepare(self, task: Task) -> None:  # noqa: B027
        """Imports and compilation, before the clock runs."""

    def default(self, task: Task) -> Settings:
        """Settings where there is no dev."""
        return {}

    def first(self, task: Task) -> Iterable[Settings]:
        """Settings to try."""
        return [self.default(task)]

    def then(self, task: Task, best: Settings) -> Iterable[Settings]:
        """More to try, given the best of the first."""
        return []

    @abstractmethod
    def fit(self, task: Task, part: Part, settings: Settings) -> Model:
        """Train on a part."""

    def train(self, task: Task) -> Model:
        """Choose on dev, then train on train and dev."""
        settings, cut = self._choose(task) if task.dev else (self.default(task), False)
        model = self.fit(task, task.everything, settings)
        model.chosen = model.chosen or listed(settings)
        model.cut = cut
        return model

    def _choose(self, task: Task) -> tuple[Settings, bool]:
        assert task.dev is not None
        best_score, best = -1.0, self.default(task)
        for stage in (lambda _: self.first(task), lambda chosen: self.then(task, chosen)):
            for settings in list(stage(best)):
                if task.late():
                    return best, True
                model = self.fit(task, task.train, settings)
                score = task.score(model.predict(task.dev.texts))
                if self.by_log_loss:
                    probabilities = model.probabilities(task.dev.texts)
                    assert probabilities is not None
                    self.losses.append((task.loss(task.dev.targets, probabilities), settings))
                if score > best_score:
                    best_score, best = score, settings
        return best, False


def listed(settings: Settings) -> str:
    spelled = {key: f"{value:.3g}" if isinstance(value, float) else value for key, value in settings.items()}
    return ", ".join(f"{key} = {value}" for key, value in spelled.items())


class SpacyModel(Model):
    """A pipeline whose last component classifies."""

    def __init__(self, task: Task, nlp: Any, component: Any) -> None:
        self.task, self.nlp, self.component = task, nlp, component

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        return self.task.decide(self.probabilities(texts))

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        # A label without a training document may be unknown.
        return np.array([[doc.cats.get(label, 0.0) for label in self.task.labels] for doc in self.nlp.pipe(texts)])

    def save(self, folder: Path) -> None:
        self.component.to_disk(folder / self.component.name)


def examples(task: Task, nlp: Any, part: Part) -> list[Any]:
    from spacy.training import Example

    return [
        Example.from_dict(nlp.make_doc(text), {"cats": dict(zip(task.labels, map(float, row), strict=True))})
        for text, row in zip(part.texts, part.targets, strict=True)
    ]


class GraftModel(SpacyModel):
    """Of ``spacy_graft``."""

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        if self.task.exclusive:
            return super().predict(texts)
        thresholds = self.component.thresholds
        return self.probabilities(texts) >= [thresholds.get(label, 0.5) for label in self.task.labels]

    def n_features(self) -> int:
        return int(self.component.model.attrs["snapshot"].features.n_features)


class Ours(Peer):
    """``spacy train`` with a shipped config, in a process of its own; where there is no dev, ``spacy_graft.fit``."""

    title = "ours"
    config: ClassVar[str] = "ngrams.cfg"
    #: Options of the learner that the command changes.
    learner: ClassVar[dict[str, Any]] = {}

    def fit(self, task: Task, part: Part, settings: Settings) -> Model:
        import spacy

        from spacy_graft import fit

        nlp = spacy.blank(task.lang)
        component = nlp.add_pipe(self.factory(task))
        fit(nlp, examples(task, nlp, part))
        return GraftModel(task, nlp, component)

    def train(self, task: Task) -> Model:
        if task.dev is None:
            return self.fit(task, task.train, {})
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_corpus(folder / "train.jsonl", task, task.train)
            write_corpus(folder / "dev.jsonl", task, task.dev)
            measured = measured_command(self.command(task, folder))
            import spacy  # now, since the memory of a process that starts another counts as that of the other

            nlp = spacy.load(folder / "model" / "model-best")
        component: Any = nlp.get_pipe(self.factory(task))
        model = GraftModel(task, nlp, component)
        report, model.measured = component.report, measured
        chosen = {"l1/l1_max": report.l1_ratio, "refit": report.refit, "temperature": report.temperature}
        model.chosen = listed(chosen)
        return model

    def factory(self, task: Task) -> str:
        return "textcat_graft" if task.exclusive else "textcat_graft_multilabel"

    def command(self, task: Task, folder: Path) -> list[str]:
        """As README and docs/cli.md have it, with the corpus and the model in ``folder``."""
        config = REPOSITORY / "configs" / self.config
        if not task.exclusive:
            config = folder / "multilabel.cfg"
            options = ["--lang", task.lang, "--multilabel", "--no-syntax", "--size", "medium"]
            command = [sys.executable, "-m", "spacy_graft", "init-config", str(config), *options]
            subprocess.run(command, check=True, capture_output=True)
        paths = [f"--paths.{part}={folder / part}.jsonl" for part in ("train", "dev")]
        learner = [f"--components.{self.factory(task)}.learner.{key}={value}" for key, value in self.learner.items()]
        lang = [] if task.lang == "en" else [f"--nlp.lang={task.lang}"]
        train = [sys.executable, "-m", "spacy", "train", str(config), "--output", str(folder / "model")]
        return [*train, *paths, *lang, *learner]


class OursSmall(Ours):
    """The same with at most 5,000 features."""

    title = "ours, 5,000"
    learner: ClassVar[dict[str, Any]] = {"max_features": 5000}


class OursSmaller(Ours):
    """With at most 2,000."""

    title = "ours, 2,000"
    learner: ClassVar[dict[str, Any]] = {"max_features": 2000}


class OursSmallest(Ours):
    """With at most 500."""

    title = "ours, 500"
    learner: ClassVar[dict[str, Any]] = {"max_features": 500}


class OursSyntax(Ours):
    """The same with ``configs/default.cfg`` and the syntax pipeline that ships, for English."""

    title = "ours, with syntax"
    config = "default.cfg"

    def command(self, task: Task, folder: Path) -> list[str]:
        (wheel,) = (REPOSITORY / "assets").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "syntax")
        (meta,) = folder.glob("syntax/*/*/meta.json")
        return [*super().command(task, folder), f"--paths.syntax={meta.parent}"]


def write_corpus(file: Path, task: Task, part: Part) -> None:
    """JSON lines, with a list of labels if several may hold."""
    with file.open("w", encoding="utf8") as lines:
        for text, row in zip(part.texts, part.targets, strict=True):
            labels = [task.labels[i] for i in np.flatnonzero(row)]
            lines.write(json.dumps({"text": text, "label": labels[0] if task.exclusive else labels}) + "\n")


def measured_command(command: Sequence[str]) -> dict[str, float]:
    """What a command takes that compiles nothing: of one run, or if that is short the medians of three."""
    runs: list[dict[str, float]] = []
    while len(runs) < (1 if runs and runs[0]["cpu_seconds"] > SHORT else 3):
        before = set(KERNELS.rglob("*.nbc"))
        run = run_command(command)
        if before == set(KERNELS.rglob("*.nbc")):
            runs.append(run)
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def run_command(command: Sequence[str]) -> dict[str, float]:
    """What the operating system counts."""
    forget_peak()  # else the command begins with this process's
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(KERNELS)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        wall, child.returncode = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            output.seek(0)
            raise RuntimeError(output.read()[-1000:].decode("utf8", "replace"))
    return {
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "wall_seconds": wall,
        "megabytes": usage.ru_maxrss / 1e3,
    }


class ScikitModel(Model):
    """Vectorizer and model."""

    def __init__(self, task: Task, vectorizer: Any, classifier: Any) -> None:
        self.task, self.vectorizer, self.classifier = task, vectorizer, classifier

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        predicted = self.classifier.predict(self.vectorizer.transform(texts))
        return one_hot(predicted, len(self.task.labels)) if self.task.exclusive else predicted.astype(np.bool_)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray | None:
        if not hasattr(self.classifier, "predict_proba"):
            return None
        found = np.zeros((len(texts), len(self.task.labels)))
        found[:, self.classifier.classes_] = self.classifier.predict_proba(self.vectorizer.transform(texts))
        return found

    def save(self, folder: Path) -> None:
        (folder / "model.pickle").write_bytes(pickle.dumps((self.vectorizer, self.classifier)))

    def n_features(self) -> int:
        models = [one for one in getattr(self.classifier, "estimators_", [self.classifier]) if hasattr(one, "coef_")]
        return int(np.any([np.any(one.coef_ != 0, axis=0) for one in models], axis=0).sum())


class Scikit(Peer):
    """n-grams of words (1, 2), of Chinese characters (1, 3), and a linear model; C is chosen last."""

    modules = ("sklearn",)
    vectorizer: ClassVar[Settings] = {}
    choices: ClassVar[dict[str, Sequence[Any]]] = {
        "min_df": (1, 2), "sublinear_tf": (True, False), "tokens": TOKENS,
    }  # fmt: skip
    #: Settings of the model, not of the vectorizer.
    of_model: ClassVar[frozenset[str]] = frozenset({"C"})
    #: C to choose the other settings with, and all that are tried.
    first_strength: ClassVar[float] = 10.0
    strengths: ClassVar[Sequence[float]] = STRENGTHS

    def prepare(self, task: Task) -> None:
        import sklearn.feature_extraction.text
        import sklearn.linear_model
        import sklearn.multiclass
        import sklearn.svm  # noqa: F401

        warnings.simplefilter("ignore")  # of models that stop at max_iter, and of labels nothing is known of
        self.known: tuple[Any, Settings, Any, Any] | None = None
        self.previous: Any = None

    def default(self, task: Task) -> Settings:
        return next(iter(self.first(task)))

    def first(self, task: Task) -> Iterator[Settings]:
        choices = {key: values for key, values in self.choices.items() if key != "tokens" or task.lang != "zh"}
        for values in itertools.product(*choices.values()):
            yield dict(zip(choices, values, strict=True)) | {"C": self.first_strength}

    def then(self, task: Task, best: Settings) -> Iterator[Settings]:
        return ({**best, "C": c} for c in self.strengths if c != best["C"])

    def fit(self, task: Task, part: Part, settings: Settings) -> Model:
        vectorizer, matrix = self._vectorized(task, part, {k: v for k, v in settings.items() if k not in self.of_model})
        classifier = self.classifier(task, settings)
        classifier.fit(matrix, part.targets.argmax(axis=1) if task.exclusive else part.targets.astype(np.int8))
        self.previous = classifier
        return ScikitModel(task, vectorizer, classifier)

    def _vectorized(self, task: Task, part: Part, settings: Settings) -> tuple[Any, Any]:
        """The vectorizer and its matrix, those of the last call if they are the same."""
        if self.known is None or self.known[0] is not part or self.known[1] != settings:
            vectorizer = self.make_vectorizer(task, settings)
            self.known, self.previous = (part, settings, vectorizer, vectorizer.fit_transform(part.texts)), None
        return self.known[2:]

    def make_vectorizer(self, task: Task, settings: Settings) -> Any:
        """What makes a matrix of texts."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        options = {k: v for k, v in settings.items() if k != "tokens"} | self.vectorizer
        if task.lang == "zh":
            options |= {"analyzer": "char", "ngram_range": (1, 3)}
        else:
            options["ngram_range"] = (1, 2)
        if settings.get("tokens") == "words and marks":
            options["token_pattern"] = MARKS
        return TfidfVectorizer(**options)

    @abstractmethod
    def classifier(self, task: Task, settings: Settings) -> Any:
        """The model that is fitted."""

    def one_a_label(self, classifier: Any) -> Any:
        from sklearn.multiclass import OneVsRestClassifier

        return OneVsRestClassifier(classifier)


class TfidfLogistic(Scikit):
    """The usual baseline; up the values of C, each fit begins where the last ended."""

    title = "tf-idf + LR"
    by_log_loss = True

    def classifier(self, task: Task, settings: Settings) -> Any:
        from sklearn.linear_model import LogisticRegression

        if not task.exclusive:
            return self.one_a_label(LogisticRegression(C=settings["C"], max_iter=1000))
        return (self.previous or LogisticRegression(max_iter=1000, warm_start=True)).set_params(C=settings["C"])


class TfidfSvm(Scikit):
    """A linear support vector machine."""

    title = "tf-idf + SVM"

    def classifier(self, task: Task, settings: Settings) -> Any:
        from sklearn.svm import LinearSVC

        model = LinearSVC(C=settings["C"], random_state=0)
        return model if task.exclusive else self.one_a_label(model)


class UnionSvm(TfidfSvm):
    """The same over n-grams of words (1, 2), of Chinese characters (1, 3), and those of characters (2, 5)."""

    title = "union SVC"
    choices: ClassVar[dict[str, Sequence[Any]]] = {"characters": ("char_wb", "char"), "sublinear_tf": (True, False)}
    first_strength = 1.0
    #: From the middle outwards, in case time is out.
    strengths = tuple(10.0 ** (k / 2) for k in (0, -1, 1, -2, 2, 3, 4))

    def make_vectorizer(self, task: Task, settings: Settings) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_union

        options = {"sublinear_tf": settings["sublinear_tf"]}
        characters = TfidfVectorizer(analyzer=settings["characters"], ngram_range=(2, 5), min_df=2, **options)
        return make_union(super().make_vectorizer(task, options), characters)


class RatioLogistic:
    """A logistic regression a label, of columns that are scaled by the label's log-count ratios."""

    def __init__(self, alpha: float, c: float) -> None:
        self.alpha, self.c = alpha, c

    def fit(self, matrix: Any, targets: np.ndarray) -> None:
        """To numbers of labels, or booleans (documents, labels)."""
        self.exclusive = targets.ndim == 1
        columns = targets[:, np.newaxis] == np.unique(targets) if self.exclusive else targets > 0
        self.classes_ = np.unique(targets) if self.exclusive else np.arange(columns.shape[1])
        fitted = [self._fit(matrix, column) for column in columns.T]
        self.coef_ = np.array([weights for weights, _ in fitted])
        self.intercept_ = np.array([intercept for _, intercept in fitted])

    def _fit(self, matrix: Any, holds: np.ndarray) -> tuple[np.ndarray, float]:
        """Weights of the columns before they are scaled, and the intercept, of one label."""
        from scipy.sparse import diags
        from sklearn.linear_model import LogisticRegression

        positive, negative = (np.asarray(matrix[rows].sum(axis=0)).ravel() + self.alpha for rows in (holds, ~holds))
        if holds.all() or not holds.any():
            return np.zeros(matrix.shape[1]), math.log((holds.sum() + 0.5) / ((~holds).sum() + 0.5))
        ratios = np.log(positive / positive.sum()) - np.log(negative / negative.sum())
        model = LogisticRegression(solver="liblinear", dual=True, C=self.c, random_state=0)
        model.fit(matrix @ diags(ratios), holds)
        return ratios * model.coef_[0], float(model.intercept_[0])

    def predict_proba(self, matrix: Any) -> np.ndarray:
        """Of each label by itself; those that exclude each other divided by their sum."""
        found = logistic(matrix @ self.coef_.T + self.intercept_)
        return found / found.sum(axis=1, keepdims=True) if self.exclusive else found

    def predict(self, matrix: Any) -> np.ndarray:
        """Numbers of labels, or booleans."""
        found = self.predict_proba(matrix)
        return self.classes_[found.argmax(axis=1)] if self.exclusive else found >= 0.5


class NaiveBayesSvm(Scikit):
    """Wang & Manning (2012) with logistic regression, one against all, without interpolation."""

    title = "NBSVM"
    vectorizer: ClassVar[Settings] = {"binary": True, "use_idf": False, "norm": None}
    choices: ClassVar[dict[str, Sequence[Any]]] = {"alpha": (1.0, 0.1), "tokens": TOKENS}
    of_model = frozenset({"C", "alpha"})
    first_strength = 1.0
    strengths = STRENGTHS[:-2]

    def classifier(self, task: Task, settings: Settings) -> Any:
        return RatioLogistic(settings["alpha"], settings["C"])


class BinaryL1(Scikit):
    """Which n-grams occur, and liblinear's L1."""

    title = "binary L1 LR"
    vectorizer: ClassVar[Settings] = {"binary": True, "use_idf": False, "norm": None}
    choices: ClassVar[dict[str, Sequence[Any]]] = {"min_df": (1, 2), "tokens": TOKENS}

    def classifier(self, task: Task, settings: Settings) -> Any:
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(solver="liblinear", l1_ratio=1.0, C=settings["C"], random_state=0)
        return model if len(task.labels) == 2 else self.one_a_label(model)


class VowpalModel(Model):
    """A file, and the workspace that read it."""

    def __init__(self, task: Task, folder: tempfile.TemporaryDirectory[str], file: Path) -> None:
        from vowpalwabbit import Workspace

        self.task, self.folder, self.file = task, folder, file
        self.workspace = Workspace(f"--initial_regressor {file} --testonly --quiet --probabilities")

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        return self.task.decide(self.probabilities(texts))

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        # Of several labels, the list also has what it held when its memory was last used: the newest is at its end.
        last = slice(-len(self.task.labels), None)
        return np.array([self.workspace.predict(vowpal_line(self.task, text))[last] for text in texts])

    def save(self, folder: Path) -> None:
        (folder / "model.vw").write_bytes(self.file.read_bytes())

    def n_features(self) -> int:
        """The file ends in pairs of a rising index and a weight; those of one n-gram's labels are neighbours."""
        content = self.file.read_bytes()
        records = np.frombuffer(content, [("index", "<u4"), ("weight", "<f4")], offset=len(content) % 8)
        falls = np.flatnonzero(np.diff(records["index"].astype(np.int64)) <= 0)
        records = records[falls[-1] + 1 if len(falls) else 0 :]
        return len(np.unique(records["index"][records["weight"] != 0] >> label_bits(self.task)))


def label_bits(task: Task) -> int:
    return math.ceil(math.log2(len(task.labels)))


def vowpal_line(task: Task, text: str, row: np.ndarray | None = None) -> str:
    clean = " ".join(unit.replace(":", "COLON").replace("|", "PIPE") for unit in units(task, text))
    labels = [] if row is None else [str(i + task.exclusive) for i in np.flatnonzero(row)]
    return f"{','.join(labels)} | {clean}"


class Vowpal(Peer):
    """Vowpal Wabbit: n-grams to 3, ten passes, L1 chosen."""

    title = "Vowpal Wabbit"
    modules = ("vowpalwabbit",)

    def prepare(self, task: Task) -> None:
        import vowpalwabbit  # noqa: F401

    def default(self, task: Task) -> Settings:
        return {"l1": "0"}

    def first(self, task: Task) -> list[Settings]:
        return [{"l1": l1} for l1 in ("0", "1e-7", "1e-6", "1e-5", "1e-4")]

    def fit(self, task: Task, part: Part, settings: Settings) -> Model:
        from vowpalwabbit import Workspace

        lines = [vowpal_line(task, *pair) for pair in zip(part.texts, part.targets, strict=True)]
        random.Random(0).shuffle(lines)
        folder = tempfile.TemporaryDirectory()
        file, cache, model = (Path(folder.name) / name for name in ("train", "cache", "model"))
        file.write_text("\n".join(lines) + "\n", "utf8")
        kind = "--oaa" if task.exclusive else "--multilabel_oaa"
        # 22 bits a label as long as that fits into 1 GB.
        Workspace(
            f"--data {file} --cache_file {cache} --kill_cache --passes 10 --holdout_off --ngram 3 --quiet "
            f"{kind} {len(task.labels)} --loss_function logistic --l1 {settings['l1']} "
            f"--bit_precision {min(22 + label_bits(task), 26)} --final_regressor {model} --predict_only_model"
        ).finish()
        cache.unlink(missing_ok=True)
        return VowpalModel(task, folder, model)


class FastTextModel(Model):
    """Labels are named by their numbers."""

    def __init__(self, task: Task, model: Any) -> None:
        self.task, self.model = task, model

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        found = np.zeros((len(texts), len(self.task.labels)), np.bool_)
        how_many, threshold = (1, 0.0) if self.task.exclusive else (-1, 0.5)
        for row, text in zip(found, texts, strict=True):
            # The compiled module, since the wrapper's predict needs a numpy before 2.
            line = " ".join(units(self.task, text)) + "\n"
            for _, label in self.model.f.predict(line, how_many, threshold, "strict"):
                row[int(label.removeprefix("__label__"))] = True
        return found

    def save(self, folder: Path) -> None:
        self.model.save_model(str(folder / "model.bin"))

    def n_features(self) -> int:
        return len(self.model.words) + FastText.buckets


class FastText(Peer):
    """fastText: word bigrams, epochs chosen."""

    title = "fastText"
    modules = ("fasttext",)
    buckets: ClassVar[int] = 200_000

    def prepare(self, task: Task) -> None:
        import fasttext  # noqa: F401

    def default(self, task: Task) -> Settings:
        return {"epochs": 25}

    def first(self, task: Task) -> list[Settings]:
        return [{"epochs": epochs} for epochs in (5, 25, 50)]

    def fit(self, task: Task, part: Part, settings: Settings) -> Model:
        import fasttext

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "train.txt"
            file.write_text("".join(self._lines(task, part)), "utf8")
            model = fasttext.train_supervised(
                str(file),
                wordNgrams=2,
                epoch=settings["epochs"],
                lr=0.5,
                loss="softmax" if task.exclusive else "ova",
                thread=1,
                verbose=0,
                bucket=self.buckets,
            )
        return FastTextModel(task, model)

    def _lines(self, task: Task, part: Part) -> Iterator[str]:
        for text, row in zip(part.texts, part.targets, strict=True):
            names = " ".join(f"__label__{i}" for i in np.flatnonzero(row))
            yield f"{names} {' '.join(units(task, text))}\n"


class BagOfWordsModel(SpacyModel):
    """Hashed n-grams."""

    def n_features(self) -> int:
        layer = next(
            node for node in self.component.model.walk() if node.has_param("W") and node.name == "sparse_linear"
        )
        return int(layer.get_param("W").reshape(len(self.task.labels), -1).any(axis=0).sum())


class SpacyTextcat(Peer):
    """spaCy's own component, trained on train alone; the best epoch on dev is kept."""

    epochs: ClassVar[int] = 10
    model: ClassVar[type[SpacyModel]] = SpacyModel

    def prepare(self, task: Task) -> None:
        import spacy

        spacy.util.fix_random_seed(0)

    def config(self, task: Task) -> Settings:
        return {}

    def fit(self, task: Task, part: Part, settings: Settings) -> Model:
        """Up to ten epochs on ``part``."""
        import spacy

        nlp = spacy.blank(task.lang)
        factory = "textcat" if task.exclusive else "textcat_multilabel"
        component: Any = nlp.add_pipe(factory, config=self.config(task))
        known = examples(task, nlp, part)
        optimizer = nlp.initialize(lambda: known)
        model = self.model(task, nlp, component)
        best = -1.0
        for epoch in range(1, self.epochs + 1):
            self._epoch(task, nlp, optimizer, known)
            score = task.score(model.predict(task.dev.texts)) if task.dev else float(epoch)
            if score > best:
                best, weights, model.chosen = score, component.model.to_bytes(), f"epoch {epoch} of {self.epochs}"
            model.cut = task.late()
            if model.cut:
                break
        component.model.from_bytes(weights)
        return model

    def _epoch(self, task: Task, nlp: Any, optimizer: Any, known: list[Any]) -> None:
        """One, or what there is time for."""
        from spacy.util import compounding, minibatch

        random.shuffle(known)
        for batch in minibatch(known, compounding(32.0, 256.0, 1.01)):
            if task.late():
                break
            nlp.update(batch, sgd=optimizer, drop=0.1)

    def train(self, task: Task) -> Model:
        return self.fit(task, task.train, {})


class BagOfWords(SpacyTextcat):
    """TextCatBOW.v3 with bigrams."""

    title = "spaCy BOW"
    model = BagOfWordsModel

    def config(self, task: Task) -> Settings:
        bow = {"@architectures": "spacy.TextCatBOW.v3", "exclusive_classes": task.exclusive, "ngram_size": 2}
        return {"model": {**bow, "no_output_layer": False, "length": 262144}}


class Ensemble(SpacyTextcat):
    """The factory's default."""

    title = "spaCy ensemble"


#: By the name on the command line.
METHODS: dict[str, type[Peer]] = {
    "ours": Ours,
    "ours-5000": OursSmall,
    "ours-syntax": OursSyntax,
    "tfidf-lr": TfidfLogistic,
    "tfidf-svm": TfidfSvm,
    "union-svc": UnionSvm,
    "nbsvm": NaiveBayesSvm,
    "binary-l1": BinaryL1,
    "vowpal": Vowpal,
    "fasttext": FastText,
    "bow": BagOfWords,
    "ensemble": Ensemble,
}
#: The same of smaller models, which have a table of their own.
SIZES: dict[str, type[Peer]] = {"ours-2000": OursSmaller, "ours-500": OursSmallest}
