"""The one place that says how kernels are compiled, and under which names numba keeps them on disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache

#: A relative import: its dots, its module, and what may be modules in turn.
IMPORT = re.compile(r"^from (\.+)([\w.]*) import (?=\(?([\w\s,]*))", re.MULTILINE)


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a kernel at its first use, without the interpreter lock, and keep what is compiled on disk.

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


class NamesWithDigest(CompileResultCacheImpl):
    """Names of a kernel's files that are new whenever the source of any kernel is."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Numba's name, and the digest of all kernels."""
        return f"{super().get_filename_base(fullname, abiflags)}-{digest_at_start()}"


class KernelCache(FunctionCache):
    """Numba's cache on disk, for kernels that call kernels of other files.

    numba itself watches the file of a function only, and goes on using code that an older callee of another file has
    been compiled into. Here files of older sources are never read: not even to be refused, since what they hold may
    name classes that are gone.
    """

    _impl_class = NamesWithDigest

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what has been compiled, and remove what is left of other sources of the kernel."""
        digest = digest_at_start()
        if sources_digest() != digest:
            return  # Edited while this process ran: it may have imported some modules before, and others since.
        super().save_overload(sig, data)
        name = self._impl.filename_base.split("-")[0]
        for path in Path(self.cache_path).glob(f"{name}-*.nb[ic]"):
            if digest not in path.name:
                with suppress(OSError):
                    path.unlink()


def sources_digest() -> str:
    """Digest of the source of all kernels of this package."""
    digest = sha256()
    for path, source in sorted(kernel_sources(Path(__file__).parent).items()):
        digest.update(f"{path} {len(source)}\n{source}".encode())
    return digest.hexdigest()[:16]


#: The same when the first kernel of this process was defined.
digest_at_start = cache(sources_digest)


def kernel_sources(package: Path) -> dict[str, str]:
    """Source of every module that has kernels, and of those of the package that it imports, by path.

    Kernels take constants from the latter.
    """
    texts = {path.relative_to(package).as_posix(): path.read_text("utf8") for path in package.rglob("*.py")}
    found: dict[str, str] = {}
    waiting = [path for path, text in texts.items() if "_numba import" in text]
    while waiting:
        path = waiting.pop()
        if path in texts and path not in found:
            found[path] = texts[path]
            waiting.extend(imported_by(path, texts[path]))
    return found


def imported_by(path: str, text: str) -> Iterator[str]:
    """Where the modules are that a module imports; and other paths, where nothing is."""
    for dots, module, names in IMPORT.findall(text):
        base = PurePosixPath(path).parents[len(dots) - 1] / module.replace(".", "/")
        for target in (base, *(base / name for name in re.findall(r"\w+", names))):
            yield from (f"{target}.py", f"{target}/__init__.py")
