"""Indexes that are built and searched by two workers of a Dask cluster: the same model, or a clear end."""

import errno
import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

from spacy_graft.graft.settings import Grafting
from spacy_graft.graft.start import start
from spacy_graft.index import on_cluster, on_disk, sums
from spacy_graft.index.on_disk import OWNER_FILE, owner_note
from spacy_graft.index.places import Dask, InMemory
from spacy_graft.search import on_cluster as search_on_cluster
from spacy_graft.search.on_cluster import search_files
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
        close_clients()


def close_clients():
    """All of them: a client that stays open goes on in a thread, beside the tests of other modules."""
    from distributed import Client

    for client in list(Client._instances):
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


def test_files_of_searches_of_dead_processes_are_deleted(cluster, data, tmp_path):
    place = Dask(2, str(tmp_path), scheduler=cluster.scheduler_address)
    fitted(data, place)
    (folder,) = tmp_path.iterdir()
    note = json.loads(owner_note())
    for name, changed in {"search-dead": {"started": "0"}, "search-alive": {}}.items():
        (folder / name).mkdir()
        (folder / name / OWNER_FILE).write_text(json.dumps({**note, **changed}))
    fitted(data, place)
    assert not (folder / "search-dead").exists()
    assert (folder / "search-alive").exists()


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


def test_a_secure_scheduler_without_a_configuration_of_tls_is_named(data, tmp_path):
    with pytest.raises(ValueError, match=r"No Dask scheduler answers at 'tls://127.*TLS configuration"):
        fitted(data, Dask(2, str(tmp_path), scheduler="tls://127.0.0.1:9"))


@pytest.mark.parametrize(("greeting", "said"), [(b"", "nothing came within 1 s"), (b"HTTP/1.1 400 Bad\r\n", "Unable")])
def test_another_service_is_no_scheduler(greeting, said, data, tmp_path, monkeypatch):
    """Such as the dashboard: a client would wait for ever, or read a greeting as a size."""
    monkeypatch.setattr(on_cluster, "SECONDS_TO_CONNECT", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port, connections = server.getsockname()[1], []

        def serve():
            while True:
                try:
                    connections.append(server.accept()[0])
                    connections[-1].sendall(greeting)
                except OSError:  # closed
                    return

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(ValueError, match=f"No Dask scheduler answers at 'tcp://127.0.0.1:{port}': {said}"):
            fitted(data, Dask(2, str(tmp_path), scheduler=f"tcp://127.0.0.1:{port}"))
        for connection in connections:
            connection.close()


def test_a_scheduler_without_workers_is_told_of_and_may_get_some(monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(on_cluster, "SECONDS_TO_CONNECT", 1)
    with LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
        timer = Timer(3.0, local.scale, (1,))
        timer.start()
        with pytest.warns(UserWarning, match=r"has no workers\. If none come .*: dask worker tcp.* is installed"):
            assert list(on_cluster.map_on_cluster(local.scheduler_address, 1, abs, [(-3,)])) == [3]
        close_clients()


def test_workers_that_are_lost_are_told_of(monkeypatch):
    """Such as those that do not have the package: they end when they get a task."""
    from distributed import LocalCluster

    monkeypatch.setattr(on_cluster, "SECONDS_TO_CONNECT", 1)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
        place = local.scheduler_address
        assert list(on_cluster.map_on_cluster(place, 1, abs, [(-3,)])) == [3]
        local.scale(0)
        timer = Timer(3.0, local.scale, (1,))
        timer.start()
        with pytest.warns(UserWarning, match=r"has no workers\. If none come"):
            assert list(on_cluster.map_on_cluster(place, 1, abs, [(-4,)])) == [4]
        close_clients()


def test_a_scheduler_that_comes_back_is_used(monkeypatch):
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
        client = on_cluster.client_of(local.scheduler_address, 1)
        client.close()  # as it does by itself some time after the scheduler has gone
        assert list(on_cluster.map_on_cluster(local.scheduler_address, 1, abs, [(-3,)])) == [3]
        close_clients()


def test_tasks_after_an_error_are_not_computed(cluster, tmp_path):
    """Not even if the error is kept, with its frames, as a notebook does."""
    with pytest.raises(ValueError, match="the first") as _kept:
        list(on_cluster.map_on_cluster(cluster.scheduler_address, 2, fail_first, [(tmp_path, i) for i in range(20)]))
    time.sleep(2)
    assert len(list(tmp_path.iterdir())) < 10


def fail_first(folder, i):
    if i == 0:
        raise ValueError("the first")
    time.sleep(0.2)
    (folder / str(i)).touch()


def test_workers_in_another_folder_give_the_same_model(cluster, data, tmp_path, monkeypatch):
    expected = fitted(data, InMemory(1))
    on_cluster.client_of(cluster.scheduler_address, 2)
    monkeypatch.chdir(tmp_path)
    assert_same(fitted(data, Dask(2, "index", scheduler=cluster.scheduler_address)), expected)


def test_workers_that_do_not_see_a_search_are_told_what_they_need(threaded, data, tmp_path, monkeypatch):
    """Where the index has been built before."""
    fitted(data, on_disk_place(tmp_path))

    def hidden(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))

    monkeypatch.setattr(search_on_cluster, "mapped_array", hidden)
    with pytest.raises(ValueError, match=r"search-.*searched\.npy cannot be read on .*Workers .* under the same path"):
        fitted(data, Dask(2, str(tmp_path), scheduler=threaded.scheduler_address))


def test_workers_that_come_with_the_first_task_are_waited_for(monkeypatch):
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
        local.adapt(minimum=0, maximum=1)
        assert list(on_cluster.map_on_cluster(local.scheduler_address, 1, abs, [(-3,), (4,)])) == [3, 4]
        close_clients()


def test_a_scheduler_that_goes_away_is_a_clear_end(data, tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(on_cluster, "SECONDS_TO_CONNECT", 3)  # again, before it gives up
    local = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    place = Dask(1, str(tmp_path), scheduler=local.scheduler_address)
    with pytest.raises(
        ValueError, match=r"The Dask cluster .* is lost or has ended: .*workers run\. Then run the same"
    ):
        fitted(data, place, between=local.close)
    assert_same(fitted(data, on_disk_place(tmp_path)), fitted(data, InMemory(1)))


def on_disk_place(path):
    from spacy_graft.index.places import OnDisk

    return OnDisk(1, str(path))


@pytest.fixture(scope="module")
def threaded():
    """A worker of two threads in this process: what it calls can be replaced."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", silence_logs=50
    ) as local:
        yield local
        close_clients()


def stored(path, cluster, done=None):
    """A place whose workers do not see the folder of this process."""
    storage = f"file://{path / 'storage'}"
    return Dask(2, str(path / "trainer"), done, cluster.scheduler_address, storage)


def copies(dask_worker):
    """What a worker has copied: names of files by folder."""
    root = Path(dask_worker.local_directory, "spacy-graft")
    return [str(path.relative_to(root)) for path in root.rglob("*.*")]


def test_workers_that_do_not_see_the_folder_give_the_same_model(cluster, tmp_path, monkeypatch):
    """Two passes: each worker has the index, one search and its last residuals."""
    data, told = data_of(10, monkeypatch), []
    assert_same(fitted(data, stored(tmp_path, cluster, lambda *counts: told.append(counts))), fitted(data, InMemory(1)))
    assert told[-1][0] == told[-1][1] > 3
    (index,) = (tmp_path / "storage").iterdir()
    assert not list(index.rglob("lanes-*"))
    assert not list(index.rglob(".*"))
    assert not (index / "shards").exists()
    found = on_cluster.client_of(cluster.scheduler_address, 2).run(copies)
    assert len(found) == 2
    for names in found.values():
        of_index = [name for name in names if name.startswith(index.name)]
        assert {f"{index.name}/{path.name}" for path in index.iterdir() if path.is_file()} <= set(of_index)
        assert sum("lanes-" in name for name in of_index) == 1
        assert sum("searched.npy" in name for name in of_index) == 1
        assert not any("shards" in name for name in of_index)


def test_shards_and_indexes_in_the_storage_are_not_made_again(threaded, data, tmp_path, monkeypatch):
    class Killed(Exception):
        pass

    def killed(done, total):
        if done == 3:
            raise Killed

    with pytest.raises(Killed):
        fitted(data, stored(tmp_path, threaded, killed))
    shutil.rmtree(tmp_path / "trainer")  # as if the process went on elsewhere
    (shards,) = (tmp_path / "storage").glob("index-*/shards")
    damaged = shards / "000001.npz"
    damaged.write_bytes(damaged.read_bytes()[:100])
    made, write = [], on_disk.ShardFolder._write
    monkeypatch.setattr(on_disk.ShardFolder, "_write", lambda folder, s: made.append(s) or write(folder, s))
    told = []
    expected = fitted(data, InMemory(1))
    assert_same(fitted(data, stored(tmp_path, threaded, lambda *counts: told.append(counts))), expected)
    assert made.count(1) == 1
    assert not {0, 2} & set(made)
    assert told[-1][0] == told[-1][1] > 3
    shutil.rmtree(tmp_path / "trainer")
    monkeypatch.setattr(on_disk, "build_in_folder", None)
    assert_same(fitted(data, stored(tmp_path, threaded)), expected)


def test_shards_of_another_plan_are_not_used(threaded, data, tmp_path, monkeypatch):
    expected = fitted(data, stored(tmp_path, threaded))
    shutil.rmtree(tmp_path / "trainer")
    (index,) = (tmp_path / "storage").iterdir()
    (index / "manifest.json").unlink()
    (index / "shards").mkdir()
    for name in ("plan.json", "000000.npz"):
        (index / "shards" / name).write_bytes(b"{}")
    made, write = [], on_disk.ShardFolder._write
    monkeypatch.setattr(on_disk.ShardFolder, "_write", lambda folder, s: made.append(s) or write(folder, s))
    told = []
    assert_same(fitted(data, stored(tmp_path, threaded, lambda *counts: told.append(counts))), expected)
    assert sorted(made) == list(range(told[-1][1]))


def test_damaged_copies_are_fetched_again(threaded, data, tmp_path):
    place, expected = stored(tmp_path, threaded), fitted(data, InMemory(1))
    assert_same(fitted(data, place), expected)
    (worker,) = threaded.workers.values()
    (index,) = (tmp_path / "storage").iterdir()
    copied = Path(worker.local_directory, "spacy-graft", index.name)
    content = (copied / "events.bin").read_bytes()
    for path in (copied, tmp_path / "trainer" / index.name):
        (path / "events.bin").write_bytes(bytes([content[0] ^ 1]) + content[1:])
        (path / "nodes.bin").unlink()
    search_files.cache_clear()
    assert_same(fitted(data, place), expected)
    assert (copied / "events.bin").read_bytes() == content
    (index / "events.bin").write_bytes(bytes([content[0] ^ 1]) + content[1:])
    (copied / "events.bin").unlink()
    search_files.cache_clear()
    with pytest.raises(ValueError, match=r"The index in .*file://.* is damaged: events.bin has changed. Delete this"):
        fitted(data, place)


def test_a_full_disk_of_a_worker_is_named(threaded, data, tmp_path, monkeypatch):
    def no_room(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(on_disk.np, "savez", no_room)
    with pytest.raises(ValueError, match=r"spacy-graft.* on .* cannot be written: No space left .* --local-directory"):
        fitted(data, stored(tmp_path, threaded))


def test_a_storage_that_cannot_be_used_is_named(data, tmp_path, monkeypatch):
    from fsspec.implementations.local import LocalFileSystem

    def place(storage):
        return Dask(1, str(tmp_path / "trainer"), storage=storage)

    def refused(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    (tmp_path / "file").touch()
    monkeypatch.setitem(sys.modules, "s3fs", None)
    for storage, reason in (
        ("nosuch://bucket", r"ValueError: Protocol not known: nosuch\. Check the URL"),
        ("s3://bucket/index", r"ImportError: Install s3fs .*\. Install this package on all machines\."),
        (f"file://{tmp_path / 'file' / 'index'}", r"NotADirectoryError: .* Check the URL"),
    ):
        with pytest.raises(
            ValueError, match=rf"The storage {re.escape(storage)}/index-.* cannot be used on .*{reason}"
        ):
            fitted(data, place(storage))
    monkeypatch.setattr(LocalFileSystem, "put_file", refused)
    with pytest.raises(ValueError, match=r"PermissionError: .*Permission denied\. Give this machine the credentials"):
        fitted(data, place(f"file://{tmp_path}"))


def test_the_url_of_a_storage_is_checked():
    with pytest.raises(ValueError, match="storage = 'bucket/index', but it must be a URL"):
        Dask(folder="index", storage="bucket/index")
    with pytest.raises(ValueError, match="storage has a password, which would be saved"):
        Dask(folder="index", storage="sftp://me:secret@host/index")
    for option in ("scheduler", "storage"):
        with pytest.raises(ValueError, match=f"Dask: {option} = 5, but it must be a string"):
            Dask(**{"folder": "index", option: 5})  # type: ignore[arg-type]
