"""Indexes in files: those that are built in memory, found again, and refused where something is wrong."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.training import Example
from thinc.api import Config

from naive import stream_of
from spacy_graft import Grafting, GraftingPath, GraftTextClassifier, files, fit
from spacy_graft.extract import texts
from spacy_graft.extract.streams import Stream
from spacy_graft.index import on_disk, sums
from spacy_graft.index.ngrams import NgramIndex
from spacy_graft.index.places import InMemory, OnDisk
from spacy_graft.index.storage import SharedFolder
from spacy_graft.index.suffixes import Suffixes
from spacy_graft.pipeline import corpus
from spacy_graft.pipeline.whole_save import save_whole
from spacy_graft.search.kernels import EQUAL, FREE
from spacy_graft.search.ranges import RangedSearch
from spacy_graft.search.request import SearchRequest
from spacy_graft.search.search import Search
from strategies import corpora

LEARNER = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 0.5}
ARRAYS = ("symbols", "alphabet", "nodes", "level", "shortest", "bounds", "distinct", "longest_node")


@pytest.fixture
def stream(monkeypatch) -> Stream:
    monkeypatch.setattr(on_disk, "SHARD_SIZE", 500)
    rng = np.random.default_rng(0)
    return Stream.join([rng.integers(97, 103, rng.integers(0, 200)).astype(np.uint32) for _ in range(40)], np.uint32)


def the_folder(path: Path) -> Path:
    (folder,) = path.iterdir()
    return folder


@given(corpora(), st.integers(1, 3), st.integers(5, 60))
def test_the_index_is_that_which_is_built_in_memory(tmp_path_factory, texts, min_df, size):
    stream = stream_of(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_disk, "SHARD_SIZE", size)
        patch.setattr(on_disk, "COMPARED", size)
        index = OnDisk(2, str(tmp_path_factory.mktemp("index"))).index(stream, min_df, None)
    expected = InMemory(1).index(stream, min_df, None)
    for name in ARRAYS:
        assert getattr(index, name).dtype == getattr(expected, name).dtype
        np.testing.assert_array_equal(getattr(index, name), getattr(expected, name))
    values = np.random.default_rng(0).normal(size=(len(texts), 2))
    np.testing.assert_array_equal(index.sums(values), expected.sums(values))


def test_shards_are_joined_one_at_a_time(tmp_path, stream, monkeypatch):
    """The nodes of a shard take more memory than its text, with a small ``min_df`` many times as much."""
    held: list[list[int]] = []
    read: list[weakref.ref[np.ndarray]] = []
    nodes = on_disk.ShardFolder.nodes

    def noted(self, s):
        held.append([k for k, array in enumerate(read) if array() is not None])
        part = nodes(self, s)
        # What is cut out of an array keeps the one that owns the memory.
        read.extend(weakref.ref(array if array.base is None else array.base) for array in part)
        return part

    monkeypatch.setattr(on_disk.ShardFolder, "nodes", noted)
    OnDisk(1, str(tmp_path)).index(stream, 1, None)
    assert len(held) > 3
    assert not any(held)


def test_an_index_is_found_again(tmp_path, stream, monkeypatch):
    place = OnDisk(1, str(tmp_path))
    index = place.index(stream, 2, None)
    assert sorted(path.name for path in the_folder(tmp_path).iterdir()) == sorted(
        ["manifest.json", *(f"{name}.bin" for name in (*ARRAYS, "places", "events"))]
    )
    monkeypatch.setattr(on_disk, "build_in_folder", None)
    np.testing.assert_array_equal(place.index(stream, 2, None).nodes, index.nodes)


def test_other_texts_and_options_have_folders_of_their_own(tmp_path, stream):
    place = OnDisk(1, str(tmp_path))
    place.index(stream, 2, None)
    for other, min_df, max_length in (
        (stream, 3, None),
        (stream, 2, 4),
        (replace(stream, starts=stream.starts[::40]), 2, None),
    ):
        index = place.index(other, min_df, max_length)
        np.testing.assert_array_equal(index.nodes, InMemory(1).index(other, min_df, max_length).nodes)
    assert len(list(tmp_path.iterdir())) == 4


def test_shards_that_are_done_are_found_again(tmp_path, stream, monkeypatch):
    class Killed(Exception):
        pass

    def killed(done: int, total: int) -> None:
        if done == 3:
            raise Killed

    with pytest.raises(Killed):
        OnDisk(1, str(tmp_path), killed).index(stream, 2, None)
    damaged = the_folder(tmp_path) / "shards" / "000001.npz"
    damaged.write_bytes(damaged.read_bytes()[:100])
    made = []
    make = on_disk.nodes_of_shard
    monkeypatch.setattr(on_disk, "nodes_of_shard", lambda *given: made.append(given) or make(*given))
    told = []
    index = OnDisk(1, str(tmp_path), lambda *counts: told.append(counts)).index(stream, 2, None)
    n_shards = told[-1][1]
    assert told == [(k + 1, n_shards) for k in range(n_shards)]
    assert len(made) == n_shards - 3 + 1
    np.testing.assert_array_equal(index.nodes, InMemory(1).index(stream, 2, None).nodes)


@pytest.mark.parametrize("name", ["symbols.npy", "000005.npy"])
@pytest.mark.parametrize("damage", ["shorter", "missing"])
def test_damaged_files_of_the_text_are_refused(tmp_path, stream, name, damage):
    def killed(*_: int) -> None:
        raise InterruptedError

    with pytest.raises(ValueError, match="Then run the same command again"):
        OnDisk(1, str(tmp_path), killed).index(stream, 2, None)
    path = the_folder(tmp_path) / "shards" / name
    content = path.read_bytes()
    path.unlink()
    if damage == "shorter":
        path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match=rf"{name} is missing or damaged: .*Delete .*shards and run"):
        OnDisk(1, str(tmp_path)).index(stream, 2, None)


def interrupted(folder, stream, n_done):
    """The folder of an index of which so many shards are done."""

    def killed(done: int, _: int) -> None:
        if done == n_done:
            raise InterruptedError

    with pytest.raises(ValueError, match="Then run the same command again"):
        OnDisk(1, str(folder), killed).index(stream, 2, None)
    return the_folder(folder) / "shards"


@pytest.mark.parametrize(
    "name", [*(f"{name}.npy" for name in on_disk.TEXT_ARRAYS), "plan.json", "000005.npy", "000000.npz"]
)
@pytest.mark.parametrize("damage", ["zeros", "bit", "empty", "swapped"])
def test_no_damage_of_a_build_changes_the_index(tmp_path, stream, name, damage):
    """It is found, or written again."""
    path = interrupted(tmp_path / "index", stream, 2) / name
    content = bytearray(path.read_bytes())
    if damage == "zeros":
        content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    elif damage == "bit":
        content[len(content) // 2] ^= 1
    elif damage == "empty":
        content.clear()
    else:
        content = bytearray(path.with_name("000001.npz").read_bytes())
    path.write_bytes(content)
    expected = OnDisk(1, str(tmp_path / "whole")).index(stream, 2, None)
    if name.endswith(".npz"):
        np.testing.assert_array_equal(OnDisk(1, str(tmp_path / "index")).index(stream, 2, None).events, expected.events)
        return
    with pytest.raises(ValueError, match=rf"{name} is missing or damaged: .*Delete .*shards and run"):
        OnDisk(1, str(tmp_path / "index")).index(stream, 2, None)
    # In the same process.
    shutil.rmtree(path.parent)
    np.testing.assert_array_equal(OnDisk(1, str(tmp_path / "index")).index(stream, 2, None).events, expected.events)


@pytest.mark.parametrize("n_documents", [10, 2**31, 1.5, None])
def test_a_manifest_that_was_changed_is_refused(tmp_path, stream, n_documents):
    OnDisk(1, str(tmp_path)).index(stream, 2, None)
    path = the_folder(tmp_path) / "manifest.json"
    values = json.loads(path.read_text())
    values["content"]["n_documents"] = n_documents
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match=r"is damaged: manifest\.json has changed"):
        OnDisk(1, str(tmp_path)).index(stream, 2, None)


@pytest.mark.skipif(on_disk.start_of(os.getpid()) is None, reason="The system does not say when processes began.")
def test_a_folder_of_an_earlier_process_with_the_same_number(tmp_path, stream):
    """In a container that was started again."""
    place = OnDisk(1, str(tmp_path))
    place.index(stream, 2, None)
    (the_folder(tmp_path) / "manifest.json").unlink()
    owner = the_folder(tmp_path) / "owner.json"
    said = {"pid": os.getpid(), "host": on_disk.this_host(), "started": "7"}
    owner.write_text(json.dumps(said))
    place.index(stream, 2, None)
    assert not owner.exists()
    (the_folder(tmp_path) / "manifest.json").unlink()
    owner.write_text(json.dumps({**said, "started": on_disk.start_of(os.getpid())}))
    with pytest.raises(ValueError, match="Another process, or another thread of this one, builds an index"):
        place.index(stream, 2, None)
    owner.write_text(json.dumps({**said, "pid": 2**80, "started": None}))
    place.index(stream, 2, None)


def test_a_folder_that_cannot_be_one(tmp_path, stream):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"The index cannot be written in .*file: .*\. Give another folder\.$"):
        OnDisk(1, str(tmp_path / "file")).kept(stream)


@contextmanager
def open_files(n: int) -> Iterator[None]:
    """The process can open so many files more, and must say so if it needs others."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
    os.close(highest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + n, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_number_of_batches_does_not_matter_to_open_files(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "BATCH", 8)
    monkeypatch.setattr(corpus, "MOST_NEW", 2)
    rows = [(f"{number:>5} {'good' if number % 3 else 'bad'}", "ab"[number % 3 > 0]) for number in range(600)]
    models = []
    for place in (InMemory(1), OnDisk(1, str(tmp_path))):
        nlp = spacy.blank("xx")
        nlp.add_pipe("textcat_graft", config={"learner": LEARNER})
        model = GraftTextClassifier(Grafting(l1=0.5))
        with open_files(100):
            fit(nlp, rows, shards=lambda place=place: place)
            models.append((nlp("good").cats, model.fit(*zip(*rows, strict=True), shards=place).predict_proba(["good"])))
    assert models[0][0] == models[1][0]
    np.testing.assert_array_equal(models[0][1], models[1][1])


def test_files_that_cannot_be_opened_are_not_for_want_of_room(tmp_path):
    with open_files(0), pytest.raises(ValueError, match=rf"{os.strerror(errno.EMFILE)}\. Allow more"):
        OnDisk(1, str(tmp_path)).empty(3, np.int32)


def test_shards_that_a_killed_process_has_left_are_deleted(tmp_path, stream):
    place = OnDisk(1, str(tmp_path))
    place.index(stream, 2, None)
    shards = the_folder(tmp_path) / on_disk.SHARDS
    shards.mkdir()
    (shards / "000000.npz").write_bytes(b"x")
    place.index(stream, 2, None)
    assert not shards.exists()


def test_room_that_finished_shards_take_is_not_asked_for_again(tmp_path, monkeypatch):
    monkeypatch.setattr(on_disk, "disk_usage", lambda folder: SimpleNamespace(free=60_000_000))
    with pytest.raises(ValueError, match=r"has 0\.060 GB of room"):
        on_disk.require_room_for_index(tmp_path, 10**6, 2)
    (tmp_path / on_disk.SHARDS).mkdir()
    (tmp_path / on_disk.SHARDS / "000000.npz").write_bytes(bytes(7_000_000))
    on_disk.require_room_for_index(tmp_path, 10**6, 2)
    (tmp_path / on_disk.SHARDS / "000000.npz").rename(tmp_path / on_disk.SHARDS / ".000000.npz.1234")
    with pytest.raises(ValueError, match=r"has 0\.060 GB of room"):
        on_disk.require_room_for_index(tmp_path, 10**6, 2)


@pytest.mark.parametrize("name", ["events.bin", "nodes.bin", "distinct.bin", "manifest.json"])
@pytest.mark.parametrize("damage", ["changed", "shorter", "missing"])
def test_damaged_files_are_refused(tmp_path, stream, name, damage):
    place = OnDisk(1, str(tmp_path))
    place.index(stream, 2, None)
    path = the_folder(tmp_path) / name
    if damage == "missing":
        path.unlink()
        if name == "manifest.json":
            np.testing.assert_array_equal(place.index(stream, 2, None).nodes, InMemory(1).index(stream, 2, None).nodes)
            return
    else:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content if damage == "changed" else content[:-3])
    with pytest.raises(ValueError, match=r"The index in .* is damaged: .*Delete this folder"):
        place.index(stream, 2, None)


def test_files_that_cannot_be_read_are_refused(tmp_path, stream, monkeypatch):
    def forbidden(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    place = OnDisk(1, str(tmp_path))
    place.index(stream, 2, None)
    monkeypatch.setattr(on_disk, "checksum", forbidden)
    with pytest.raises(ValueError, match=r"The index in .* cannot be read: .*Permission denied.*\.bin.*another folder"):
        place.index(stream, 2, None)


def test_a_folder_without_room_is_refused_before_the_work(tmp_path, stream, monkeypatch):
    monkeypatch.setattr(on_disk, "disk_usage", lambda folder: SimpleNamespace(free=10))
    monkeypatch.setattr(on_disk.RankedText, "of_stream", None)
    with pytest.raises(ValueError, match=r"GB of room, and the index of [\d,]+ symbols may need"):
        OnDisk(1, str(tmp_path)).index(stream, 2, None)


@pytest.mark.parametrize(
    ("free", "n_symbols", "message"),
    [
        (10, 1, r"has 0\.000 GB of room, .* may need 0\.001 GB"),
        (20_480_000, 10**6, r"has 0\.020 GB of room, .* may need 0\.066 GB"),
        (65_999_999, 10**6, r"has 0\.065 GB of room, .* may need 0\.066 GB"),
        (10**12, 10**11, r"has 1,000\.000 GB of room, .* may need 7,000\.000 GB"),
    ],
)
def test_how_much_room_is_missing_can_be_seen(tmp_path, monkeypatch, free, n_symbols, message):
    monkeypatch.setattr(on_disk, "disk_usage", lambda folder: SimpleNamespace(free=free))
    with pytest.raises(ValueError, match=message):
        on_disk.require_room_for_index(tmp_path, n_symbols, 2)


@pytest.mark.parametrize("full", ["savez", "memmap"])
def test_a_full_disk_is_a_clear_end(tmp_path, stream, monkeypatch, full):
    def no_room(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    place = OnDisk(1, str(tmp_path))
    with monkeypatch.context() as patch:
        if full == "savez":
            patch.setattr(on_disk.np, "savez", no_room)
        else:
            patch.setattr(on_disk, "reserve", no_room)
        with pytest.raises(ValueError, match=r"The index cannot be written in .*No space left.*run the same command"):
            place.index(stream, 2, None)
    np.testing.assert_array_equal(place.index(stream, 2, None).nodes, InMemory(1).index(stream, 2, None).nodes)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError("62483 requested and 40832 written"), r"a file could only be written in part\. Make room, or give"),
        (OSError(errno.EFBIG, os.strerror(errno.EFBIG)), r"ulimit -f"),
        (OSError(errno.EACCES, os.strerror(errno.EACCES)), r"Permission denied\. Make it writable"),
    ],
    ids=["numpy", "limit", "permission"],
)
def test_the_remedy_is_that_of_the_error(tmp_path, stream, monkeypatch, error, message):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(on_disk.np, "save", fail)
    with pytest.raises(ValueError, match=message):
        OnDisk(1, str(tmp_path)).index(stream, 2, None)
    with pytest.raises(ValueError, match=message):
        on_disk.save_array(tmp_path / "lanes.npy", np.zeros(1))


def test_positions_of_long_texts_have_64_bits(tmp_path, stream, monkeypatch):
    expected = InMemory(1).index(stream, 2, None)
    monkeypatch.setattr(Suffixes, "dtype", np.int64)
    index = OnDisk(1, str(tmp_path)).index(stream, 2, None)
    assert index.places.dtype == np.int64
    np.testing.assert_array_equal(index.nodes, expected.nodes)
    for ngram, other in zip(index.ngrams(range(index.n_nodes)), expected.ngrams(range(index.n_nodes)), strict=True):
        np.testing.assert_array_equal(ngram, other)


def test_two_processes_do_not_build_one_index(tmp_path, stream):
    place = OnDisk(1, str(tmp_path))
    place.index(stream, 2, None)
    folder = the_folder(tmp_path)
    (folder / "manifest.json").unlink()
    owner = folder / "owner.json"
    owner.write_text(json.dumps({"pid": os.getpid(), "host": on_disk.this_host()}))
    with pytest.raises(ValueError, match="Another process, or another thread of this one, builds an index in"):
        place.index(stream, 2, None)
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    owner.write_text(json.dumps({"pid": int(ended.stdout), "host": on_disk.this_host()}))
    place.index(stream, 2, None)
    assert not owner.exists()


@pytest.mark.parametrize("links", [True, False])
def test_a_folder_has_one_owner(tmp_path, monkeypatch, links):
    """On file systems without links, too."""

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(files.os, "link", no_links)
    folder = on_disk.IndexFolder(SharedFolder("index", tmp_path))
    with folder.owned():
        assert json.loads((tmp_path / "index" / "owner.json").read_text())["pid"] == os.getpid()
        with (
            pytest.raises(ValueError, match="Another process, or another thread of this one, builds an index"),
            folder.owned(),
        ):
            pass
        assert [path.name for path in (tmp_path / "index").iterdir()] == ["owner.json"]
    assert not list((tmp_path / "index").iterdir())


def test_a_full_disk_leaves_no_owner(tmp_path, stream, monkeypatch):
    """An incomplete file would lock the folder."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    place = OnDisk(1, str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        patch.setattr(on_disk.json, "dump", full)
        with pytest.raises(ValueError, match=r"The index cannot be written in .*No space left"):
            place.index(stream, 2, None)
    place.index(stream, 2, None)


def test_the_file_of_a_new_owner_is_not_taken_for_that_of_the_dead(tmp_path, monkeypatch):
    """Where both processes have found the folder of a third, which is dead, and one of them is slower."""
    folder, is_running, owners = on_disk.IndexFolder(SharedFolder("index", tmp_path)), on_disk.is_running, ExitStack()
    folder.path.mkdir()
    (folder.path / "owner.json").write_text(json.dumps({"pid": 2**80, "host": on_disk.this_host()}))

    def meanwhile(pid: int) -> bool:
        monkeypatch.setattr(on_disk, "is_running", is_running)
        owners.enter_context(folder.owned())
        return is_running(pid)

    monkeypatch.setattr(on_disk, "is_running", meanwhile)
    with (
        owners,
        pytest.raises(ValueError, match="Another process, or another thread of this one, builds an index"),
        folder.owned(),
    ):
        pass


def test_one_process_at_a_time_forgets_the_dead(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    folder = on_disk.IndexFolder(SharedFolder("index", tmp_path))
    folder.path.mkdir()
    (folder.path / "owner.json").write_text(json.dumps({"pid": 2**80, "host": on_disk.this_host()}))
    with (folder.path / "owner.json").open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with (
            pytest.raises(ValueError, match="Another process, or another thread of this one, builds an index"),
            folder.owned(),
        ):
            pass
    with folder.owned():
        pass


@pytest.mark.skipif(os.name == "nt", reason="on Windows no process counts as dead")
def test_a_process_that_is_killed_while_it_forgets_the_dead_does_not_leave_the_folder_locked(tmp_path):
    folder = on_disk.IndexFolder(SharedFolder("index", tmp_path))
    folder.path.mkdir()
    (folder.path / "owner.json").write_text(json.dumps({"pid": 2**80, "host": on_disk.this_host()}))
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom spacy_graft.index.on_disk import IndexFolder\n"
        "from spacy_graft.index.storage import SharedFolder\nPath.unlink = lambda *_, **__: os._exit(7)\n"
        "with IndexFolder(SharedFolder('index', Path(sys.argv[1]))).owned():\n    pass\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 7
    with folder.owned():
        pass


def test_an_index_that_another_process_has_ended_with_is_not_built_again(tmp_path, stream, monkeypatch):
    """The files of the first would be empty where it has them mapped."""
    place, owned = OnDisk(1, str(tmp_path)), on_disk.IndexFolder.owned
    built = []

    @contextmanager
    def owned_after_another(folder):
        monkeypatch.setattr(on_disk.IndexFolder, "owned", owned)
        built.append(place.index(stream, 2, None))
        files = {file.name: file.stat().st_mtime_ns for file in folder.path.glob("*.bin")}
        with owned(folder):
            yield
        assert files == {file.name: file.stat().st_mtime_ns for file in folder.path.glob("*.bin")} != {}

    monkeypatch.setattr(on_disk.IndexFolder, "owned", owned_after_another)
    index = place.index(stream, 2, None)
    np.testing.assert_array_equal(index.nodes, built[0].nodes)


def test_options_are_checked():
    with pytest.raises(ValueError, match="OnDisk: folder = ''"):
        OnDisk()
    for folder in ("a\0b", "a\ud800b" if os.name == "posix" else "\0"):
        with pytest.raises(ValueError, match=re.escape(f"OnDisk: folder = {folder!r}, but it must be the path of a")):
            OnDisk(folder=folder)
    with pytest.raises(ValueError, match="OnDisk: threads = -1"):
        OnDisk(-1, "x")


@given(corpora(), st.integers(1, 11), st.integers(60, 600), st.integers(1, 2), st.booleans(), st.integers(0, 2**32))
def test_searches_that_leave_out_ranges_find_the_same(texts, n_labels, range_, n_threads, weighted, seed):
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "RANGE", range_)
        index = NgramIndex.build(stream_of(texts))
        rows = np.where(index.distinct, FREE, EQUAL).astype(np.int32)
        inverse = rng.uniform(0.5, 2.0, (index.n_nodes, int(weighted))).astype(np.float32)
        ranged, plain = RangedSearch(index, inverse, rows), Search(index, inverse, rows)
        residuals = rng.normal(size=(len(texts), n_labels))
        nodes = np.empty(0, np.int64)
        for step in (1.0, 0.01, 1e-4, 0.0, 0.1, 1e-6):
            residuals += step * rng.normal(size=residuals.shape)
            rows[nodes] = FREE
            nodes = rng.permutation(np.flatnonzero(rows == FREE))[: rng.integers(0, 4)]
            rows[nodes] = np.arange(len(nodes))
            ranged.note_rows(nodes, np.arange(len(nodes)))
            active = rng.random((len(nodes), n_labels)) < 0.5
            threshold = float(rng.uniform(0.3, 3.0))
            request = SearchRequest(
                residuals=residuals, min_gradient=threshold, n_best=5, active=active, degree=1, count_all=True,
                n_threads=n_threads,
            )  # fmt: skip
            found, expected = ranged.best(request), plain.best(request)
            for name in ("nodes", "labels", "scaled_gradients", "count", "peaks", "squared_excess"):
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_an_estimator_has_the_same_model(tmp_path):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcde "), 30)) for _ in range(60)]
    labels = ["+" if "ab" in text else "-" for text in texts]
    learner = GraftingPath(steps=5)
    expected = GraftTextClassifier(learner, min_df=1).fit(texts, labels)
    model = GraftTextClassifier(learner, min_df=1).fit(iter(texts), labels, shards=OnDisk(2, str(tmp_path)))
    assert model.features() == expected.features()
    np.testing.assert_array_equal(model.predict_proba(texts), expected.predict_proba(texts))


def test_a_component_has_the_same_model(tmp_path):
    rows = [(f"The {x} was {how}.", y) for y in ("good", "bad") for how in (y, f"very {y}") for x in "abcdefgh"]

    def trained(**options: Any) -> bytes:
        nlp = spacy.blank("xx")
        component = nlp.add_pipe("textcat_graft", config={"learner": LEARNER})
        cats = ({"good": float(y == "good"), "bad": float(y == "bad")} for _, y in rows)
        fit(
            nlp,
            [Example.from_dict(nlp.make_doc(text), {"cats": c}) for (text, _), c in zip(rows, cats, strict=True)],
            **options,
        )
        return component.to_bytes(exclude=["report"])

    assert trained(shards=OnDisk(1, str(tmp_path))) == trained()


def test_a_config_names_the_place(tmp_path):
    config = Config().from_str(f"""
        [nlp]
        lang = "en"
        pipeline = ["textcat_graft"]

        [components]

        [components.textcat_graft]
        factory = "textcat_graft"

        [initialize]

        [initialize.components]

        [initialize.components.textcat_graft]

        [initialize.components.textcat_graft.shards]
        @graft_shards = "spacy_graft.OnDisk.v1"
        folder = "{tmp_path.as_posix()}"
        threads = 1
        """)
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    examples = [
        Example.from_dict(nlp.make_doc(y), {"cats": {"good": y == "good", "bad": y == "bad"}})
        for y in ["good", "bad"] * 5
    ]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    assert len(list(tmp_path.glob("index-*/manifest.json"))) == 2
    save_whole(nlp, tmp_path / "model")
    assert "shards" not in (tmp_path / "model" / "config.cfg").read_text()
    assert nlp.config["initialize"]["components"]["textcat_graft"]["shards"]["threads"] == 1
