"""The one place that says how kernels are compiled."""

import functools

import numba

#: Lazy, cached on disk, and without the interpreter lock. No ``fastmath``: sums keep their order, so that rounds are
#: the same on every run.
njit = functools.partial(numba.njit, cache=True, nogil=True)
