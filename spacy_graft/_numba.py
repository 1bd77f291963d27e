"""The one place that says how kernels are compiled, and under which names numba keeps them on disk."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import numba
from llvmlite.binding import add_symbol
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import _nrt_python
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from ._cache_folders import Folder, folders_for, is_writable, trusted

#: The folder of this package.
PACKAGE = Path(__file__).parent
#: A relative import: its dots, its module, and what may be modules in turn.
IMPORT = re.compile(r"^from (\.+)([\w.]*) import (?=\(?([\w\s,]*))", re.MULTILINE)
#: What a module with kernels has.
KERNELS = re.compile(r"^from \.+_numba import", re.MULTILINE)


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a kernel of this package at its first use, without the interpreter lock; keep the result on disk.

    No ``fastmath``: sums keep their order, so that rounds are the same on every run. Options are those of numba.
    """
    if function is None:
        return partial(njit, **options)
    kernel = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    if not numba.config.DISABLE_JIT:
        kernel._cache = KernelCache(function)
    return kernel


#: A small kernel that others are made of, compiled as a part of them: by itself each would take a tenth of a second.
inlined = partial(njit, inline="always")


def inner(function: Callable[..., Any]) -> Any:
    """Compile a kernel that only other kernels call.

    Code that takes its arguments from Python is not compiled: with many arrays that would take half of the time.
    """
    kernel = njit(function, no_cpython_wrapper=True)
    if not numba.config.DISABLE_JIT:
        # Without these two a call from Python would jump to address 0.
        kernel._insert = lambda *_: None
        kernel._compile_for_args = partial(refuse_call, function.__qualname__)
    return kernel


def refuse_call(name: str, *_: Any) -> Any:
    """What a call of an inner kernel from Python does."""
    raise TypeError(f"{name} can only be called by other kernels.")


class KernelCache(NullCache):
    """A kernel's machine code on disk, a file for each combination of types of arguments.

    numba's own cache watches the file of a function only, and goes on using code that an older callee of another file
    has been compiled into. It needs a folder that it can write, and believes every file that it finds there. Here files
    of older sources are never read: not even to be refused, since what they hold may name classes that are gone. Files
    that are damaged are compiled again, those that others can write are not read (:mod:`spacy_graft._cache_folders`),
    and without a folder kernels are compiled for the process only.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self.source = Path(code.co_filename).absolute()
        self.kernel = f"{self.source.stem}.{function.__qualname__}"
        self.prefix = f"{self.kernel}-{code.co_firstlineno}.{sys.implementation.cache_tag}-{digest_at_start()}"

    @property
    def cache_path(self) -> str | None:
        """The folder that files are written to."""
        folder = self.writable()
        return None if folder is None else str(folder.path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What has been compiled for these types, or None."""
        add_runtime()
        name = self.file_name(sig, target_context.codegen())
        for folder in self.folders():
            payload = folder.read(name)
            if payload is not None:
                # It was written as a whole by these sources and this numba, yet pickles can fail in any way.
                with suppress(Exception):
                    return CompileResult._rebuild(target_context, *pickle.loads(payload))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what has been compiled, and remove what is left of other sources of the kernel."""
        if not sources_are_those_at_start():
            return  # Edited while this process ran: it may have imported some modules before, and others since.
        folder = self.writable()
        if folder is None or data.library.has_dynamic_globals:
            return
        folder.write(self.file_name(sig, data.codegen), dumps(data._reduce()))
        for path in folder.path.glob(f"{self.kernel}-*.nb[ic]*"):
            if digest_at_start() not in path.name:
                with suppress(OSError):
                    path.unlink()

    def folders(self) -> Iterator[Folder]:
        """Folders to read from, the writable one last. Without sources (in a zip file) nothing says if files fit."""
        if not self.source.is_file():
            return iter(())
        user_cache = AppDirs(appname="numba", appauthor=False).user_cache_dir
        return trusted(folders_for(self.source.parent, numba.config.CACHE_DIR, user_cache))

    def writable(self) -> Folder | None:
        """The folder to write to, if there is one."""
        return next(filter(is_writable, self.folders()), None)

    def file_name(self, sig: Any, codegen: Any) -> str:
        """Name of a file: kernel, sources, and the digest of types and processor."""
        key = f"{sig} {codegen.magic_tuple()}"
        return f"{self.prefix}-{sha256(key.encode()).hexdigest()[:32]}.nbc"


@cache
def add_runtime() -> None:
    """Tell the linker what machine code calls: numba's runtime.

    numba itself would load all that compiling needs, the same for every kernel that is read from disk: 46 MB and a
    tenth of a second in each process.
    """
    for name, address in _nrt_python.c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def source_digest(sources: dict[str, str]) -> str:
    """Digest of the sources of kernels, by path, and of the version of their compiler."""
    digest = sha256(numba.__version__.encode())
    for path, source in sorted(sources.items()):
        digest.update(f"{path} {len(source)}\n{source}".encode())
    return digest.hexdigest()[:16]


@cache
def at_start() -> tuple[str, dict[Path, tuple[int, int]]]:
    """The digest when the first kernel of this process was defined, and the state of its files just before."""
    states = {path: file_state(path) for path in PACKAGE.rglob("*.py")}
    sources = kernel_sources(PACKAGE)
    return source_digest(sources), {path: states[path] for path in map(PACKAGE.joinpath, sources) if path in states}


def digest_at_start() -> str:
    """The digest of :func:`at_start`."""
    return at_start()[0]


def sources_are_those_at_start() -> bool:
    """Whether no source of a kernel has been edited since. Files are read again only if they have been written."""
    digest, states = at_start()
    unwritten = all(file_state(path) == state for path, state in states.items())
    return unwritten or source_digest(kernel_sources(PACKAGE)) == digest


def file_state(path: Path) -> tuple[int, int]:
    """Time of the last change of a file, and its size; zeros if it is not there."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def kernel_sources(package: Path) -> dict[str, str]:
    """Source of every module that has kernels, and of those of the package that it imports, by path.

    Kernels take constants from the latter.
    """
    texts = {path.relative_to(package).as_posix(): path.read_text("utf8") for path in package.rglob("*.py")}
    found: dict[str, str] = {}
    waiting = [path for path, text in texts.items() if KERNELS.search(text)]
    while waiting:
        path = waiting.pop()
        if path in texts and path not in found:
            found[path] = texts[path]
            waiting.extend(imported_by(path, texts[path]))
    return found


def imported_by(path: str, text: str) -> Iterator[str]:
    """Yield the paths of the modules that a module imports, among others that do not exist."""
    for dots, module, names in IMPORT.findall(text):
        base = PurePosixPath(path).parents[len(dots) - 1] / module.replace(".", "/")
        for target in (base, *(base / name for name in re.findall(r"\w+", names))):
            yield from (f"{target}.py", f"{target}/__init__.py")
