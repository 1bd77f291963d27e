"""Indexes that are built and searched by two workers of a Dask cluster: the same model, or a clear end."""

import os
import signal
import time
from dataclasses import replace

import numpy as np
import pytest

from spacy_graft.graft.settings import Grafting
from spacy_graft.graft.start import start
from spacy_graft.index import on_cluster, on_disk, sums
from spacy_graft.index.places import Dask, InMemory
from strategies import training_data

pytestmark = [
    pytest.mark.slow,
    # Threads of the cluster that end when the interpreter does.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
LEARNER = Grafting(l1=0.5)


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
        yield local
        for client in [on_cluster.client_of(local.scheduler_address, 2)]:
            client.close()
        on_cluster.client_of.cache_clear()


def data_of(n_labels, monkeypatch):
    monkeypatch.setattr(on_disk, "SHARD_SIZE", 300)
    monkeypatch.setattr(sums, "RANGE", 3000)
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abc "), 60)) for _ in range(60)]
    return training_data(texts, np.eye(n_labels)[rng.integers(0, n_labels, 60)])


@pytest.fixture
def data(monkeypatch):
    return data_of(3, monkeypatch)


def fitted(data, place, between=None):
    fit = start(LEARNER, replace(data, place=place))
    if between is not None:
        between()
    while not fit.finished:
        fit.step()
    return fit


def assert_same(fit, other):
    assert fit.report.duality_gap == other.report.duality_gap
    np.testing.assert_array_equal(fit.rounds.state.active.weights, other.rounds.state.active.weights)
    np.testing.assert_array_equal(fit.rounds.state.space.nodes, other.rounds.state.space.nodes)
    assert len(fit.rounds.state.active) > 10


@pytest.mark.parametrize("n_labels", [2, 3, 10])
def test_two_workers_give_the_same_model(cluster, tmp_path, monkeypatch, n_labels):
    """One problem of two labels, one pass, and two."""
    data, told = data_of(n_labels, monkeypatch), []
    place = Dask(2, str(tmp_path), lambda *counts: told.append(counts), cluster.scheduler_address)
    assert_same(fitted(data, place), fitted(data, InMemory(1)))
    assert told[-1][0] == told[-1][1] > 3
    (folder,) = tmp_path.iterdir()
    assert not list(folder.glob("search-*/lanes-*"))


def test_the_work_of_a_killed_worker_is_done_by_others(cluster, data, tmp_path):
    def kill():
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

    place = Dask(2, str(tmp_path), scheduler=cluster.scheduler_address)
    assert_same(fitted(data, place, between=kill), fitted(data, InMemory(1)))
    cluster.scale(2)
    time.sleep(1)


def test_a_worker_of_another_version_is_refused(cluster, data, tmp_path, monkeypatch):
    monkeypatch.setattr(on_cluster, "__version__", "0.0.0")
    with pytest.raises(ValueError, match=r"A Dask worker has version .*, but the process that trains has 0\.0\.0"):
        fitted(data, Dask(2, str(tmp_path), scheduler=cluster.scheduler_address))


def test_a_scheduler_that_is_not_there_is_named(data, tmp_path, monkeypatch):
    monkeypatch.setattr(on_cluster, "SECONDS_TO_CONNECT", 1)
    with pytest.raises(ValueError, match="No Dask scheduler answers at 'tcp://127"):
        fitted(data, Dask(2, str(tmp_path), scheduler="tcp://127.0.0.1:9"))


def test_a_scheduler_that_goes_away_is_a_clear_end(data, tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(on_cluster, "SECONDS_TO_CONNECT", 3)  # again, before it gives up
    local = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    place = Dask(1, str(tmp_path), scheduler=local.scheduler_address)
    with pytest.raises(ValueError, match=r"The Dask cluster .* is lost or has ended: .*Run the same command again"):
        fitted(data, place, between=local.close)
    assert_same(fitted(data, on_disk_place(tmp_path)), fitted(data, InMemory(1)))


def on_disk_place(path):
    from spacy_graft.index.places import OnDisk

    return OnDisk(1, str(path))
