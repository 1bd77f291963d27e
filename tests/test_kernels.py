"""How kernels are kept on disk: code that was compiled from older sources is never run."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path, PurePosixPath

import numba
import pytest

import spacy_graft
from conftest import run
from spacy_graft._numba import inner, kernel_sources, njit

PACKAGE = Path(spacy_graft.__file__).parent
#: A kernel that calls one of another file, which takes a constant from a third.
KERNEL = """
from .._numba import njit
from ..extract.kernels import find


@njit
def two_rows(slots, known):
    return find(3, slots, known), find(2, slots, known)
"""
#: A call of it, and how often it came from the cache.
CALL = """
import numpy as np
from spacy_graft.extract.hashing import EMPTY
from spacy_graft.model.kernels_of_test import two_rows

slots = np.full(4, EMPTY, np.int32)
slots[3] = 0
print(*two_rows(slots, np.array([3])), sum(two_rows.stats.cache_hits.values()), two_rows.stats.cache_path, sep=chr(10))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package with one more kernel, to be edited; nothing compiled."""
    ignored = shutil.ignore_patterns("__pycache__")
    package = Path(shutil.copytree(PACKAGE, tmp_path / "code" / "spacy_graft", ignore=ignored))
    (package / "model" / "kernels_of_test.py").write_text(KERNEL, "utf8")
    return package


def called(package: Path, cache: Path | None, before: str = "") -> tuple[list[int], int, Path]:
    """Rows, hits of the cache, and where that is, from a process of its own."""
    environment = {"NUMBA_CACHE_DIR": str(cache or ""), "NUMBA_DISABLE_JIT": "0", "PYTHONPATH": str(package.parent)}
    *numbers, folder = run("-c", before + CALL, **environment).stdout.splitlines()
    *rows, hits = map(int, numbers)
    return rows, hits, Path(folder)


def compiled(folder: Path) -> set[Path]:
    return set(folder.rglob("*.nb[ic]"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "module", "old", "new", "rows"),
    [
        (True, "extract/kernels.py", "return slots[slot]\n", "return slots[slot] + 5\n", [5, -1]),
        (False, "extract/hashing.py", "EMPTY = -1", "EMPTY = -2", [0, -2]),
    ],
    ids=["a callee, NUMBA_CACHE_DIR", "its constant, default folder"],
)
def test_edits_of_other_files_are_seen(
    copy: Path, tmp_path: Path, chosen: bool, module: str, old: str, new: str, rows: list[int]
) -> None:
    cache = tmp_path / "cache" if chosen else None
    assert called(copy, cache)[:2] == ([0, -1], 0)
    edit(copy / "extract" / "arcs.py", "are arcs of the dependency tree", "are arcs; no kernel")
    found, hits, folder = called(copy, cache)
    assert (found, hits) == ([0, -1], 1)
    assert folder.is_relative_to(cache or copy)
    before = compiled(folder)
    assert before

    edit(copy / module, old, new)
    assert called(copy, cache)[:2] == (rows, 0)
    assert called(copy, cache)[:2] == (rows, 1)
    after = compiled(folder)
    assert len(after) == len(before)
    assert not after & before


@pytest.mark.slow
def test_nothing_is_kept_of_code_that_is_edited_meanwhile(copy: Path, tmp_path: Path) -> None:
    source = copy / "extract" / "kernels.py"
    meanwhile = f"import spacy_graft.extract.kernels\nopen({str(source)!r}, 'a').write('# more')\n"
    assert called(copy, tmp_path / "cache", meanwhile)[:2] == ([0, -1], 0)
    assert not compiled(tmp_path / "cache")


@pytest.mark.slow
def test_code_that_is_kept_is_loaded_without_what_compiling_needs(copy: Path, tmp_path: Path) -> None:
    guard = """
from numba.core.base import BaseContext

def refresh(self):
    raise AssertionError("Something is compiled.")

BaseContext.refresh = refresh
"""
    called(copy, tmp_path)
    assert called(copy, tmp_path, guard)[1] == 1


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_inner_kernels_are_called_by_kernels_only() -> None:
    @inner
    def doubled(x):
        return 2 * x

    @njit
    def quadrupled(x):
        return doubled(doubled(x))

    for _ in range(2):
        with pytest.raises(TypeError, match="doubled can only be called by other kernels"):
            doubled(3)
        assert quadrupled(3) == 12


def test_all_sources_of_kernels_count() -> None:
    sources = kernel_sources(PACKAGE)
    for path in PACKAGE.rglob("*.py"):
        if re.search(r"^@(njit|inlined|inner)", path.read_text("utf8"), re.MULTILINE):
            assert path.relative_to(PACKAGE).as_posix() in sources
    for path, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.level:
                target = PurePosixPath(path).parents[node.level - 1].joinpath(*(node.module or "").split("."))
                modules = [target, *(target / name.name for name in node.names)]
                assert any(f"{module}.py" in sources for module in modules)
