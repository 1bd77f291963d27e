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
        If Dask is not installed, or there is no scheduler at the address, or no worker.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ValueError('Dask is not installed: python -m pip install "spacy-graft[dask]".') from error
    try:
        if scheduler:
            client = Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
            require_workers(client, scheduler)
            return client
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
        advice = "Make sure that its scheduler and workers run. Then run" if scheduler else "Run"
        raise ValueError(
            f"The Dask cluster {scheduler or 'on this machine'} is lost or has ended: {type(error).__name__}: "
            f"{str(error).rstrip('.')}. {advice} the same command again: it continues after the finished shards."
        ) from error


def require_workers(client: Client, scheduler: str) -> None:
    """Raise a ValueError if a scheduler has no workers, or none that come soon."""
    try:
        client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
    except TimeoutError as error:
        client.close()
        raise ValueError(
            f"The Dask scheduler {scheduler} has had no workers for {SECONDS_TO_CONNECT} seconds. Start some: dask "
            f"worker {scheduler}"
        ) from error


def call_of_version(version: str, function: Callable[..., AnswerT], *arguments: Any) -> AnswerT:
    """Call a function in a worker; a ValueError if the worker has another version of the package."""
    if version != __version__:
        raise ValueError(
            f"A Dask worker has version {__version__} of spacy-graft, but the process that trains has {version}. "
            f"Install the same version for both."
        )
    return function(*arguments)
