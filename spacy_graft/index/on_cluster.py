"""Functions that the workers of a Dask cluster compute."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from .. import __version__
from ..messages import one_line, warn
from ..threads import pool

if TYPE_CHECKING:
    from distributed import Client, Future

AnswerT = TypeVar("AnswerT")

#: Seconds to wait for a scheduler, and for a result before a scheduler without workers is told of.
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
            # A client would wait for ever for another service, such as the dashboard of the scheduler. Not here, where
            # a notebook has a loop of its own.
            pool(1).submit(asyncio.run, answer_of(scheduler)).result()
            return Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        cluster = LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
        )
        return Client(cluster, set_as_default=False)
    except RuntimeError as error:
        # A process of a worker has run the script of the user, which starts a cluster.
        raise ValueError(
            f"The workers of the Dask cluster do not start: {one_line(error).rstrip('.')}. A script that starts a "
            f'cluster does so under if __name__ == "__main__":.'
        ) from error
    # A first word that is none is taken for a size. A TypeError is for TLS without its configuration.
    except (OSError, ValueError, MemoryError, TypeError) as error:
        said = one_line(error) or f"nothing came within {SECONDS_TO_CONNECT} seconds"
        raise ValueError(
            f"No Dask scheduler answers at {scheduler!r}: {said}. Start it, or correct the address (its port is 8786, "
            f"that of its dashboard 8787, unless others were given)."
        ) from error


async def answer_of(scheduler: str) -> Any:
    """What the scheduler at an address says of itself; a TimeoutError if there is no answer in time."""
    from distributed import rpc
    from distributed.security import Security

    async with rpc(scheduler, connection_args=Security().get_connection_args("client")) as known:
        return await asyncio.wait_for(known.identity(), SECONDS_TO_CONNECT)


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
    if client.status == "closed":  # since its scheduler was lost; there may be one again
        client_of.cache_clear()
        client = client_of(scheduler, n_workers)
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    futures = [client.submit(call_of_version, __version__, function, *arguments, pure=False) for arguments in given]
    try:
        for future in futures:
            while scheduler and not has_ended(future):
                tell_of_missing_workers(client, scheduler)
            yield future.result()
    except (KilledWorker, CancelledError, CommClosedError, TimeoutError) as error:
        client_of.cache_clear()
        with suppress(OSError, TimeoutError, RuntimeError):
            client.close(timeout=1)
        advice = "Make sure that its scheduler and workers run. Then run" if scheduler else "Run"
        raise ValueError(
            f"The Dask cluster {scheduler or 'on this machine'} is lost or has ended: {type(error).__name__}: "
            f"{one_line(error).rstrip('.')}. {advice} the same command again: it continues after the finished shards."
        ) from error
    finally:
        futures.clear()  # so that what is left is not computed for an error that somebody keeps, as a notebook does


def has_ended(future: Future) -> bool:
    """Whether a task has, or ends while one waits for it."""
    try:
        future.exception(timeout=SECONDS_TO_CONNECT)
    except TimeoutError:
        return False
    return True


def tell_of_missing_workers(client: Client, scheduler: str) -> None:
    """Warn if a scheduler has no workers. It may get some, and those of some clusters come with the first task."""
    with suppress(OSError):  # that it is lost is said where results are waited for
        if not client.nthreads():
            warn(
                f"The Dask scheduler {scheduler} has no workers. If none come by themselves, start some: dask worker "
                f"{scheduler} (where spacy-graft is installed: a worker without it ends, and its log says so)"
            )


def call_of_version(version: str, function: Callable[..., AnswerT], *arguments: Any) -> AnswerT:
    """Call a function in a worker; a ValueError if the worker has another version of the package."""
    if version != __version__:
        raise ValueError(
            f"A Dask worker has version {__version__} of spacy-graft, but the process that trains has {version}. "
            f"Install the same version for both."
        )
    return function(*arguments)
