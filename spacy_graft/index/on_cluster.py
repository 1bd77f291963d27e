"""Functions that the workers of a Dask cluster compute."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from .. import __version__

if TYPE_CHECKING:
    from distributed import Client

AnswerT = TypeVar("AnswerT")

#: Seconds to wait for a scheduler.
SECONDS_TO_CONNECT = 30


@cache
def client_of(scheduler: str, n_workers: int) -> Client:
    """The client of a scheduler, or of a new cluster of ``n_workers`` processes here; kept while this process runs.

    Raises
    ------
    ValueError
        If Dask is not installed, or there is no scheduler at the address.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ValueError('Dask is not installed: python -m pip install "spacy-graft[dask]".') from error
    try:
        if scheduler:
            return Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        cluster = LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
        )
        return Client(cluster, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"No Dask scheduler answers at {scheduler!r}: {error}. Start it, or correct the address."
        ) from error


def map_on_cluster(
    scheduler: str, n_workers: int, function: Callable[..., AnswerT], given: Sequence[tuple[Any, ...]]
) -> Iterator[AnswerT]:
    """Yield the results of a function for each tuple of arguments, in order.

    Raises
    ------
    ValueError
        If the cluster cannot be reached or is lost, or a worker has another version of the package.
    """
    client = client_of(scheduler, n_workers)
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    futures = [client.submit(call_of_version, __version__, function, *arguments, pure=False) for arguments in given]
    try:
        for future in futures:
            yield future.result()
    except (KilledWorker, CancelledError, CommClosedError, TimeoutError) as error:
        client_of.cache_clear()
        with suppress(OSError, TimeoutError, RuntimeError):
            client.close(timeout=1)
        raise ValueError(
            f"The Dask cluster {scheduler or 'on this machine'} is lost or has ended: "
            f"{type(error).__name__}: {error}. Run the same command again: it continues after the finished shards."
        ) from error


def call_of_version(version: str, function: Callable[..., AnswerT], *arguments: Any) -> AnswerT:
    """Call a function in a worker; a ValueError if the worker has another version of the package."""
    if version != __version__:
        raise ValueError(
            f"A Dask worker has version {__version__} of spacy-graft, but the process that trains has {version}. "
            f"Install the same version for both."
        )
    return function(*arguments)
