"""Fits that cannot end are refused before they begin, with the number; fits that can are not."""

from __future__ import annotations

import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import make_example, make_nlp, run
from spacy_graft import GraftTextClassifier, significance
from spacy_graft.classifier import GraftClassifier
from spacy_graft.graft import memory
from spacy_graft.graft.data import TrainingData
from spacy_graft.graft.settings import CoordinateAscent, Grafting, GraftingPath
from spacy_graft.graft.start import start
from strategies import training_data

LEARNERS: dict[str, Any] = {
    "empty": Grafting(l1=1e9),
    "l1": Grafting(l1=0.1),
    "l2": Grafting(penalty="l2", ridge=1.0),
    "path": GraftingPath(steps=2, l1_min_ratio=0.5),
    "ascent": CoordinateAscent(),
}


def data_of(n: int, labels: int, exclusive: bool) -> TrainingData:
    return training_data([f"w{i % 7}" for i in range(n)], np.eye(labels)[np.arange(n) % labels], exclusive)


def run_fit(learner: Any, data: TrainingData) -> None:
    fit = start(learner, data)
    fit.step()
    fit.step()
    fit.solution()


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize(("n", "labels"), [(2000, 40), (20000, 3), (20000, 2)])
def test_a_fit_takes_what_is_estimated_or_more(learner: str, exclusive: bool, n: int, labels: int) -> None:
    """NumPy reports what it allocates to tracemalloc."""
    run_fit(LEARNERS[learner], data_of(2 * labels, labels, exclusive))  # compiled
    data = data_of(n, labels, exclusive)
    tracemalloc.start()
    try:
        run_fit(LEARNERS[learner], data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    estimate = memory.least_bytes(n, labels, exclusive)
    assert estimate <= peak <= 4 * estimate


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 5_000_000)


MESSAGE = r"needs at least 0\.\d GB of memory for 1,000 documents × 1,000 labels, and 0\.0 GB are available"


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fit_that_cannot_end_is_refused(learner: str) -> None:
    with pytest.raises(ValueError, match=MESSAGE):
        start(LEARNERS[learner], training_data(["a"] * 1000, np.eye(1000)))


@pytest.mark.usefixtures("little_memory")
def test_a_classifier_is_refused_before_its_targets_are_made() -> None:
    with pytest.raises(ValueError, match=MESSAGE):
        GraftClassifier().fit([{"a"}] * 1000, range(1000))


@pytest.mark.usefixtures("little_memory")
def test_a_component_is_refused_when_it_is_initialized() -> None:
    nlp = make_nlp()
    examples = [make_example(nlp, "a", {f"label{i}": 1.0}) for i in range(1000)]
    with pytest.raises(ValueError, match=MESSAGE):
        nlp.initialize(lambda: examples)


@pytest.mark.slow
@pytest.mark.parametrize("of_texts", [True, False])
def test_a_test_of_many_labels_is_refused_or_takes_more(of_texts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, sets = ["a", "b"] * 600, [[f"label{i % 1000}"] for i in range(1200)]
    nlp = make_nlp("textcat_graft_multilabel")

    def run_test() -> None:
        if of_texts:
            GraftTextClassifier(multilabel=True).significance(texts, sets, permutations=20)
        else:
            significance(nlp, zip(texts, sets, strict=True), permutations=20)

    tracemalloc.start()
    try:
        run_test()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak >= 1200 * 1000 * (memory.BYTES_OF_DATA + memory.BYTES_OF_TEST)
    monkeypatch.setattr(memory, "available_bytes", lambda: 5_000_000)
    with pytest.raises(
        ValueError, match=r"The test needs at least 0\.0 GB of memory for 1,200 documents × 1,000 labels"
    ):
        run_test()


def test_labels_that_no_document_has_take_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_000_000)
    targets = np.zeros((50, 1000))
    targets[::2, 3] = targets[1::2, 4] = 1.0
    start(Grafting(l1=1.0), training_data(["a", "b"] * 25, targets))


def test_without_a_limit_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.require_memory_for(10**9, 10**9, True)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_memory_of_the_machine(tmp_path: Path) -> None:
    meminfo = "MemTotal:  9 kB\nMemAvailable:    5 kB\nSwapFree:  2 kB\nHugePages_Total: 0\n"
    write(tmp_path, {"meminfo": meminfo, "old": "MemTotal: 9 kB"})
    assert list(memory.machine_bytes(tmp_path / "meminfo")) == [7 * 1024]
    assert list(memory.machine_bytes(tmp_path / "old")) == []
    assert list(memory.machine_bytes(tmp_path / "none")) == []


def test_control_groups_of_version_2(tmp_path: Path) -> None:
    root = write(
        tmp_path / "root",
        {
            "a/memory.max": "1000\n",
            "a/memory.stat": "anon 300\nfile 600\n",
            "a/b/memory.max": "max\n",
            "a/b/memory.stat": "anon 200\n",
        },
    )
    write(tmp_path, {"cgroup": "0::/a/b\n"})
    assert list(memory.group_bytes(tmp_path / "cgroup", root)) == [700]
    write(root, {"memory.max": "500", "memory.stat": "anon 100\n"})
    write(tmp_path, {"cgroup": "0::/of/the/host\n"})
    assert list(memory.group_bytes(tmp_path / "cgroup", root)) == [400]


def test_control_groups_of_version_1(tmp_path: Path) -> None:
    root = write(
        tmp_path / "root",
        {
            "memory/a/memory.limit_in_bytes": "1000\n",
            "memory/a/memory.stat": "rss 1\ntotal_rss 300\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    write(tmp_path, {"cgroup": "9:name=systemd:/x\n4:memory:/a\n0::/\n"})
    assert list(memory.group_bytes(tmp_path / "cgroup", root)) == [700, 9223372036854771712]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
def test_ten_thousand_labels_are_refused_under_a_limit() -> None:
    """The targets take no memory of their own, so that the fit would be the first to take any."""
    program = """
import resource
import numpy as np
from spacy_graft.graft.settings import Grafting
from spacy_graft.graft.start import start
from strategies import training_data
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, resource.RLIM_INFINITY))
data = training_data(["a"], np.ones((1, 2)))
cells = (10_000, 10_000)
object.__setattr__(data, "targets", np.broadcast_to(1e-4, cells))
object.__setattr__(data, "known", np.broadcast_to(True, cells))
try:
    start(Grafting(l1=0.1), data)
except ValueError as error:
    print(error)
"""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    printed = run("-c", program, PYTHONPATH=path).stdout
    assert printed.startswith("Training needs at least 6.0 GB of memory for 10,000 documents × 10,000 labels, and ")
