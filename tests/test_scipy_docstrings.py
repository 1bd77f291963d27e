"""Tests of the script which builds the default corpus."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT = Path(__file__).parents[1] / "scripts" / "scipy_docstrings.py"
SPLITS = ("train", "dev", "test")

Rows = dict[str, list[dict[str, str]]]


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scipy_docstrings", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


script: Any = _load()

DOC = """frob(x, y, /, out=None)

    Frobnicate the *input* signal.

    Calls :func:`~scipy.stats.norm` and `scipy.signal.lfilter`, see [1]_ and
    :mod:`scipy.stats`; ``x[0]`` is kept.

    .. math::

        \\int f(x) dx

    .. versionadded:: 1.2

    .. note:: Beware of the dog.

    Parameters
    ----------
    x : array_like
        A described parameter.

    Returns
    -------
    out : ndarray
        A described result.

    See Also
    --------
    other : something else

    Notes
    -----
    First paragraph of the notes::

        literal = block

    * one item
      goes on
    * another item

    ====  ====
    a     b
    ====  ====

    **Array API Standard Support**

    `frob` has experimental support for Python Array API Standard compatible
    backends in addition to NumPy.

    >>> frob(1)
    2

    References
    ----------
    .. [1] Someone, "Something".

    Examples
    --------
    An example.

    >>> frob(1)
    2
    """

MODULES = {"scipy.stats", "scipy.signal", "scipy.signal.windows"}


def _document(name: str, label: str = "one", text: str = "some text", group: str = "") -> Any:
    return script.Document(f"scipy.{label}.{name}", label, group or f"{label}.{name}", text)


def test_clean_docstring_keeps_summary_and_notes_only() -> None:
    assert script.clean_docstring(DOC, MODULES) == [
        "Frobnicate the input signal.",
        "Calls norm and lfilter, see and SciPy; x[0] is kept.",
        "Beware of the dog.",
        "First paragraph of the notes:",
        "one item goes on",
        "another item",
    ]


@pytest.mark.parametrize("doc", ["", "f(x) -> y", "Point(x, y)", "Examples\n--------\n>>> 1\n1\n"])
def test_clean_docstring_may_leave_nothing(doc: str) -> None:
    assert script.clean_docstring(doc) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see :func:`scipy.stats.norm`", "see norm"),
        ("see :meth:`~scipy.stats.rv_continuous.fit`.", "see fit."),
        ("see `stats.norm` and signal.windows.hann", "see norm and hann"),
        ("the signal. The end", "the signal. The end"),
        ("in scipy.signal.windows or scipy.stats.", "in SciPy or SciPy."),
        ("use np.linalg.inv", "use inv"),
        ("`text <https://example.org/x>`_ here", "text here"),
        ("shown in [1]_, [Abc-2]_.", "shown in,."),
        ("see https://example.org/page.", "see ."),
        (":math:`\\alpha \\le x` holds", "alpha le x holds"),
        ("**bold** and *thin*, but a*b and 2**3", "bold and thin, but a*b and 2**3"),
        ("- an item\n  on two lines", "an item on two lines"),
        ("reduced to one. With", "reduced to one. With"),
        ("the lambda_ argument", "the lambda_ argument"),
    ],
)
def test_clean_inline(text: str, expected: str) -> None:
    assert script.clean_inline(text, MODULES) == expected


def test_boilerplate_is_what_repeats_in_many_groups() -> None:
    found = {}
    for i in range(script.MAX_REPEATS + 1):
        doc = script.Docstring(f"scipy.one.f{i}", "one", f"one.f{i}", False, "")
        found[doc] = [f"A summary of five words, number {i}.", f"f{i} says this"]
    assert all("says" not in doc.text for doc in script.drop_boilerplate(found))
    found.popitem()
    assert all("says" in doc.text for doc in script.drop_boilerplate(found))


def test_short_texts_are_dropped() -> None:
    doc = script.Docstring("scipy.one.f", "one", "one.f", False, "")
    assert script.drop_boilerplate({doc: ["Return 1 2 3 4 5."]}) == []


def test_same_texts_are_dropped_whatever_the_names() -> None:
    docs = [_document(name, text="Left part of the tree") for name in ("tree", "left")]
    assert script.drop_duplicates(docs) == (docs[:1], [])


def test_duplicates_apart_from_the_name_are_dropped() -> None:
    texts = [f"Apply {name} to the whole of the input array" for name in ("foo", "bar")]
    docs = [_document("foo", text=texts[0]), _document("bar", text=texts[1])]
    kept, links = script.drop_duplicates(docs)
    assert kept == docs[:1]
    assert links == []


def test_similar_texts_link_their_groups() -> None:
    common = "compute the distance between each pair of points"
    docs = [
        _document("foo", text=f"{common} in the plane with care"),
        _document("bar", text=f"{common} on a sphere or a torus"),
        _document("baz", text="read a matrix from a file"),
    ]
    assert script.drop_duplicates(docs) == (docs, [("one.foo", "one.bar")])


def test_split_keeps_the_shares_of_each_label() -> None:
    docs = [_document(f"f{i}", label) for label in ("one", "two") for i in range(100)]
    splits = script.split_documents(docs)
    for split, share in (("train", 70), ("dev", 10), ("test", 20)):
        assert Counter(doc.label for doc in splits[split]) == {"one": share, "two": share}
        assert splits[split] == sorted(splits[split], key=lambda doc: doc.id)


def test_split_ignores_the_order_of_the_documents() -> None:
    docs = [_document(f"f{i}") for i in range(50)]
    assert script.split_documents(docs) == script.split_documents(docs[::-1])


def test_split_keeps_groups_and_linked_groups_together() -> None:
    docs = [_document(f"f{i}.m{j}", group=f"one.f{i}") for i in range(20) for j in range(i % 4 + 1)]
    links = [("one.f1", "one.f2"), ("one.f2", "one.f3"), ("one.f4", "other.f1"), ("no", "one.f5")]
    splits = script.split_documents(docs, links)
    where = {(doc.group, split) for split, docs in splits.items() for doc in docs}
    assert len(where) == 20
    assert len({split for group, split in where if group in {"one.f1", "one.f2", "one.f3"}}) == 1


def test_write_jsonl_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    script.write_jsonl(path, [_document("f", text="naïve")])
    before = path.read_text(encoding="utf-8")
    assert json.loads(before) == {"id": "scipy.one.f", "label": "one", "text": "naïve"}
    with pytest.raises(AttributeError):
        script.write_jsonl(path, [_document("g"), None])
    assert path.read_text(encoding="utf-8") == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Build the corpus once and return its folder and what was printed."""
    pytest.importorskip("scipy")
    folder = tmp_path_factory.mktemp("data") / "corpus"
    result = CliRunner().invoke(script.app, [str(folder)])
    assert result.exit_code == 0, result.output
    return folder, result.output


@pytest.fixture(scope="module")
def rows(corpus: tuple[Path, str]) -> Rows:
    folder, _ = corpus
    return {
        split: [json.loads(line) for line in (folder / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()]
        for split in SPLITS
    }


@pytest.mark.slow
def test_corpus_has_three_files_and_prints_a_table(corpus: tuple[Path, str]) -> None:
    folder, output = corpus
    assert sorted(path.name for path in folder.iterdir()) == [
        "dev.jsonl",
        "test.jsonl",
        "train.jsonl",
    ]
    scipy = importlib.import_module("scipy")
    assert f"SciPy {scipy.__version__}" in output
    assert "stats" in output


def test_corpus_size(rows: Rows) -> None:
    labels = Counter(row["label"] for split in SPLITS for row in rows[split])
    assert 1500 <= labels.total() <= 2200
    assert len(labels) >= 10
    assert min(labels.values()) >= 20
    for split, share in (("train", 0.7), ("dev", 0.1), ("test", 0.2)):
        assert {row["label"] for row in rows[split]} == set(labels)
        assert len(rows[split]) == pytest.approx(share * labels.total(), rel=0.05)


def test_corpus_rows(rows: Rows) -> None:
    ids = [row["id"] for split in SPLITS for row in rows[split]]
    assert len(ids) == len(set(ids))
    for split in SPLITS:
        assert [row["id"] for row in rows[split]] == sorted(row["id"] for row in rows[split])
        for row in rows[split]:
            assert list(row) == ["id", "label", "text"]
            assert row["id"].split(".")[:2] == ["scipy", row["label"]]


def test_no_text_is_in_two_splits(rows: Rows) -> None:
    texts = [row["text"].lower().split() for split in SPLITS for row in rows[split]]
    assert len({" ".join(words) for words in texts}) == len(texts)


def test_no_group_is_in_two_splits(rows: Rows) -> None:
    scipy = importlib.import_module("scipy")
    docs = script.collect_docstrings(script.public_modules(scipy))
    group = {doc.id: doc.group for doc in docs}
    where = {(group[row["id"]], split) for split in SPLITS for row in rows[split]}
    assert len(where) == len({name for name, _ in where})


def test_texts_are_prose(rows: Rows) -> None:
    text = "\n".join(row["text"] for split in SPLITS for row in rows[split])
    labels = {row["label"] for row in rows["train"]}
    for leftover in (">>>", ":func:", ":math:", "versionadded", "Array API Standard"):
        assert leftover not in text
    assert not [label for label in labels if f"scipy.{label}" in text]


@pytest.mark.slow
def test_corpus_does_not_depend_on_the_hash_seed(corpus: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = corpus
    env = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONWARNINGS": "always"}
    command = [sys.executable, str(SCRIPT), str(tmp_path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    for split in SPLITS:
        name = f"{split}.jsonl"
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_missing_scipy_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    result = CliRunner().invoke(script.app, [str(tmp_path / "corpus")])
    assert result.exit_code == 1
    assert result.output.startswith("error: cannot import scipy")
    assert result.output.count("\n") == 1
    assert not (tmp_path / "corpus").exists()


def test_stripped_docstrings_are_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-OO", str(SCRIPT), str(tmp_path / "corpus")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "-OO" in done.stderr


@pytest.mark.slow
def test_unwritable_output_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    path = tmp_path / "file"
    path.write_text("", encoding="utf-8")
    result = CliRunner().invoke(script.app, [str(path)])
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
    assert result.output.count("\n") == 1
