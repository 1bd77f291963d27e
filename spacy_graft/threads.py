"""Work in threads: kernels run without the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


def in_threads(work: Sequence[Callable[[], ResultT]], n_threads: int) -> list[ResultT]:
    """What each call gives back, in their order. The calling thread does it all where one is enough."""
    return list(map_in_threads(lambda call: call(), [(call,) for call in work], n_threads))


def map_in_threads(
    function: Callable[..., ResultT], given: Sequence[tuple[Any, ...]], n_threads: int
) -> Iterator[ResultT]:
    """What a function gives back for each of the arguments, in their order, one after the other."""
    if n_threads == 1 or len(given) < 2:
        return (function(*arguments) for arguments in given)
    return pool(n_threads).map(lambda arguments: function(*arguments), given)


@cache
def pool(n_threads: int) -> ThreadPoolExecutor:
    """So many threads, kept for what comes."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="spacy-graft")


if hasattr(os, "register_at_fork"):
    # A process that is forked has the pools, and none of their threads.
    os.register_at_fork(after_in_child=pool.cache_clear)


def n_cores() -> int:
    """Cores that this process may use; at most ``NUMBA_NUM_THREADS``, which bounds the threads of compiled code."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdecimal() and int(limit) else cores
