"""Work in threads: kernels run without the interpreter lock, and linear algebra without threads of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

ResultT = TypeVar("ResultT")


def in_threads(work: Sequence[Callable[[], ResultT]], n_threads: int) -> list[ResultT]:
    """The results of calls, in their order. If one thread is enough, it is the calling one."""
    return list(map_in_threads(lambda call: call(), [(call,) for call in work], n_threads))


def map_in_threads(
    function: Callable[..., ResultT], given: Sequence[tuple[Any, ...]], n_threads: int
) -> Iterator[ResultT]:
    """Yield the results of a function for several tuples of arguments, in their order."""
    if n_threads == 1 or len(given) < 2:
        return (function(*arguments) for arguments in given)
    return pool(n_threads).map(lambda arguments: function(*arguments), given)


@cache
def pool(n_threads: int) -> ThreadPoolExecutor:
    """A pool of threads, which is kept for later work."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="spacy-graft")


#: The process that has loaded this module. One that is forked from it has another number.
LOADED_BY = os.getpid()


@contextmanager
def limited_threads(user_api: str, n_threads: int = 1) -> Iterator[None]:
    """Limit the threads of libraries that have their own: to so many, or to one in a process that is forked.

    NumPy's and SciPy's linear algebra ("blas") takes as many threads as there are cores, whatever was asked for. On
    small matrices this gains little, and where cores are busy the threads wait for one another: fits took up to five
    times as long. And the last digits of sums depend on their number. Threads of OpenMP ("openmp") do not survive a
    fork: a child that asked for them would wait for ever.

    The limit is that of the process. Of several threads in this context, the first one sets it and takes it away. A
    process that is forked meanwhile keeps it.

    Where the limit is taken away, the threads of OpenBLAS begin again, and wait for work at full speed: whoever trains
    holds it for a whole step, not for each solution (a sixth of the CPU time of a small training).

    Parameters
    ----------
    user_api : "blas" or "openmp"
    n_threads : int
    """
    lock = lock_of(user_api)
    if not lock.acquire(blocking=False):
        yield
        return
    try:
        with libraries(user_api).limit(limits=n_threads if os.getpid() == LOADED_BY else 1):
            yield
    finally:
        lock.release()


@cache
def lock_of(user_api: str) -> Lock:
    """The lock of a limit; whoever has set the limit holds it."""
    return Lock()


@cache
def libraries(user_api: str) -> ThreadpoolController:
    """The libraries with this API, of those that are loaded at the first call."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api=user_api)


if hasattr(os, "register_at_fork"):
    # A process that is forked has the pools and the locks, and none of the threads that work or hold them.
    os.register_at_fork(after_in_child=pool.cache_clear)
    os.register_at_fork(after_in_child=lock_of.cache_clear)


def n_cores() -> int:
    """Cores that this process may use; at most ``NUMBA_NUM_THREADS``, which bounds the threads of compiled code."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdecimal() and int(limit) else cores
