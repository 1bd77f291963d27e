"""The scripts of the project, each on its own."""

from __future__ import annotations

import ast
import csv
import hashlib
import importlib
import io
import json
import re
import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import spacy

from conftest import REPOSITORY, Record, run_forked, write_jsonl

pytestmark = pytest.mark.slow

SCRIPTS = REPOSITORY / "scripts"
SPLITS = ("train", "dev", "test")


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make scripts importable."""
    monkeypatch.syspath_prepend(str(SCRIPTS))


@pytest.fixture
def common(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the benchmarks share."""
    pytest.importorskip("fcntl")
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    return importlib.import_module("common")


def rows_of(folder: Path) -> dict[str, list[Record]]:
    return {
        split: [json.loads(line) for line in (folder / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()]
        for split in SPLITS
    }


def corpus(output: Path, data: object, *arguments: str) -> dict[str, list[Record]]:
    run_forked(SCRIPTS / "corpus.py", output, "--data", data, *arguments)
    return rows_of(output)


def test_jsonl_is_copied(tmp_path: Path) -> None:
    for n, name in enumerate(("train.jsonl.gz", "dev.jsonl", "test.jsonl.gz")):
        write_jsonl(tmp_path / name, [{"body": f"{name} 天气", "topic": "a"}, {"body": "x" * n, "topic": ["b", "c"]}])
    rows = corpus(tmp_path / "out", tmp_path, "--text-field", "body", "--label-field", "topic")
    assert [row["text"] for row in rows["dev"]] == ["dev.jsonl 天气", "x"]
    assert [row["label"] for row in rows["train"]] == ["a", ["b", "c"]]
    assert all(len({row["id"] for row in rows[split]}) == 2 for split in SPLITS)


def test_dev_is_held_out_by_label(tmp_path: Path) -> None:
    """Labels alternate, so that every tenth line has the same label."""
    records = [{"text": f"text {i}", "label": "ab"[i % 2]} for i in range(200)]
    write_jsonl(tmp_path / "train.jsonl", records)
    write_jsonl(tmp_path / "test.jsonl", records[:4])
    rows = corpus(tmp_path / "out", tmp_path)
    assert Counter(row["label"] for row in rows["dev"]) == {"a": 10, "b": 10}
    assert Counter(row["label"] for row in rows["train"]) == {"a": 90, "b": 90}
    assert len({row["text"] for split in ("train", "dev") for row in rows[split]}) == 200


def test_ag_news_gets_class_names(tmp_path: Path) -> None:
    for split, n in (("train", 80), ("test", 4)):
        with (tmp_path / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = [[str(i % 4 + 1), f'A "title" {i}', "A, description"] for i in range(n)]
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    rows = corpus(tmp_path / "out", tmp_path)
    assert [row["label"] for row in rows["test"]] == ["World", "Sports", "Business", "Sci/Tech"]
    assert 'A "title" 0' in rows["test"][0]["text"]
    assert "A, description" in rows["test"][0]["text"]


def test_reviews_are_read_from_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "aclImdb_v1.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for folder in ("train/pos", "train/neg", "train/unsup", "test/pos", "test/neg"):
            for i in range(10):
                text = f"{folder} é {i}".encode()
                member = tarfile.TarInfo(f"aclImdb/{folder}/{i}_7.txt")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text))
    rows = corpus(tmp_path / "out", archive)
    assert Counter(row["label"] for row in rows["test"]) == {"pos": 10, "neg": 10}
    assert Counter(row["label"] for row in rows["train"]) == {"pos": 9, "neg": 9}
    assert "test/neg é 0" in [row["text"] for row in rows["test"]]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "train"),
        ({"train.jsonl": [{"text": "x", "label": "a"}]}, "test"),
        ({"train.jsonl": [{"text": "x", "label": "a"}, {"text": "y"}], "test.jsonl": []}, "train.jsonl, line 2"),
    ],
)
def test_bad_data_gives_a_one_line_error(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    for name, records in files.items():
        write_jsonl(tmp_path / name, records)
    result = run_forked(SCRIPTS / "corpus.py", tmp_path / "out", "--data", tmp_path, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_missing_data_gives_a_one_line_error(tmp_path: Path) -> None:
    result = run_forked(SCRIPTS / "corpus.py", tmp_path / "out", "--data", tmp_path / "none", check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert "none" in result.stderr


@pytest.fixture
def archive(tmp_path: Path, scripts: None) -> Path:
    """Return a wheel in a folder with its checksum."""
    path = tmp_path / "assets" / "a-1.0-py3-none-any.whl"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("a/meta.json", "{}")
    importlib.import_module("unpack").write_checksum(path)
    return path


def test_a_wheel_with_the_correct_checksum_is_unpacked(archive: Path, tmp_path: Path) -> None:
    run_forked(SCRIPTS / "unpack.py", archive, tmp_path / "out")
    assert (tmp_path / "out" / "a" / "meta.json").read_text(encoding="utf-8") == "{}"


def test_an_altered_wheel_is_refused(archive: Path, tmp_path: Path) -> None:
    """It is still a valid archive, so that only the checksum is wrong."""
    with zipfile.ZipFile(archive, "a") as wheel:
        wheel.writestr("a/more.py", "")
    result = run_forked(SCRIPTS / "unpack.py", archive, tmp_path / "out", check=False)
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {archive} is damaged or was changed")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() in result.stderr
    assert f"git checkout -- {archive}" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("sums", [None, "", "0" * 64 + "  another.whl\n"])
def test_a_wheel_without_a_checksum_is_refused(archive: Path, tmp_path: Path, sums: str | None) -> None:
    path = archive.with_name("SHA256SUMS")
    path.unlink()
    if sums is not None:
        path.write_text(sums, encoding="utf-8")
    result = run_forked(SCRIPTS / "unpack.py", archive, tmp_path / "out", check=False)
    assert result.returncode == 1
    assert f"{path} has no checksum of {archive.name}" in result.stderr
    assert not (tmp_path / "out").exists()


def test_checksums_of_other_files_are_kept(archive: Path) -> None:
    unpack, other = importlib.import_module("unpack"), archive.with_name("b.whl")
    other.write_bytes(b"b")
    unpack.write_checksum(other)
    path = archive.with_name("SHA256SUMS")
    assert unpack.read_checksums(path) == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (archive, other)
    }
    # As sha256sum writes them.
    assert path.read_bytes().decode() == "".join(
        f"{checksum}  {name}\n" for name, checksum in unpack.read_checksums(path).items()
    )


def test_shipped_wheels_have_a_checksum(scripts: None) -> None:
    assets = REPOSITORY / "assets"
    sums = {wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in assets.glob("*.whl")}
    assert importlib.import_module("unpack").read_checksums(assets / "SHA256SUMS") == sums


def test_the_page_has_the_results_of_the_tests_of_spacy(tmp_path: Path, scripts: None) -> None:
    page = (REPOSITORY / "docs" / "spacy-tests.md").read_text(encoding="utf-8")
    if f"spaCy {spacy.__version__}:" not in page:
        pytest.skip("The results are those of another version of spaCy.")
    script = importlib.import_module("spacy_textcat_tests")
    results = script.run_tests(script.source_of_tests(), ["--tb=no", "-qq", "--disable-warnings"], tmp_path)
    found = script.outcomes(results)
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    assert {name: tuple(map(int, counts)) for name, *counts in rows} == {
        name: (counts.total(), counts["passed"], counts["skipped"]) for name, counts in found.items()
    }


def test_results_of_benchmarks_are_small() -> None:
    """Tables in Markdown are the record; what is kept beside them is compact."""
    benchmarks = REPOSITORY / "benchmarks"
    kept = list(benchmarks.glob("*.json.gz"))
    assert kept
    assert sum(path.stat().st_size for path in kept) < 150_000
    assert not [*benchmarks.glob("*.json"), *benchmarks.glob("*.svg"), *(REPOSITORY / "docs").rglob("*.svg")]


def test_results_of_benchmarks_come_back_as_they_were_kept(common: Any, tmp_path: Path) -> None:
    for path in sorted((REPOSITORY / "benchmarks").glob("*.json.gz")):
        copy = tmp_path / path.name
        common.save_results(copy, common.load_results(path))
        assert common.load_results(copy) == common.load_results(path)
    again = tmp_path / "again.json.gz"
    assert common.load_results(again) == {}
    common.save_results(again, {"b": [1 / 3, 2], "a": {"é": 123456789.0}})
    assert common.load_results(again) == {"a": {"é": 123456790.0}, "b": [0.33333333, 2]}
    first = again.read_bytes()
    with common.updated_results(again) as results:
        results["a"] = results.pop("a")
    assert again.read_bytes() == first
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_benchmarks_name_the_peers_that_are_missing(common: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "vowpalwabbit", None)
    with pytest.raises(SystemExit, match=r"python -m pip install scikit-learn vowpalwabbit$"):
        common.need("vowpalwabbit", "sklearn", "matplotlib", "sklearn")
    common.need("matplotlib")


def test_a_benchmark_with_a_missing_peer_does_not_begin(
    common: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = importlib.import_module("accuracy")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(SystemExit, match="scikit-learn"):
        script.main(tmp_path, methods="tfidf-lr", results=tmp_path / "accuracy.json.gz")
    assert list(tmp_path.iterdir()) == []


def test_benchmarks_check_their_peers_first(common: Any) -> None:
    for path in sorted((REPOSITORY / "benchmarks").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        names = [getattr(node, "module", None) or node.names[0].name for node in imports]
        peers = {name.split(".")[0] for name in names} & set(common.PACKAGES)
        for main in (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main"):
            start = "".join(map(ast.unparse, main.body[:2]))
            assert {peer for peer in peers if not re.search(rf"need\(.*'{peer}'", start)} == set(), path.name


def test_notebooks_store_what_their_cells_print_and_show(tmp_path: Path) -> None:
    sources = ["name = 'Ann'", "print('Hello,')\nprint(name)\nlen(name)"]
    cells = [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in sources]
    path = tmp_path / "hello.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": ["# Hello"]}, *cells]}))
    run_forked(SCRIPTS / "notebooks.py", path)
    text, quiet, loud = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert "outputs" not in text
    assert quiet["outputs"] == []
    printed, shown = loud["outputs"]
    assert printed["text"] == ["Hello,\n", "Ann\n"]
    assert shown["data"] == {"text/plain": ["3"]}
