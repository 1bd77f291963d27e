"""Kernels of the permutation test: what it keeps of one chunk of sums, and the columns that it tests."""

import math

import numpy as np

from .._numba import njit

#: A permutation counts as large as the observed statistic in spite of the rounding of their sums.
TIE = 1e-9
#: The histogram of statistics: its smallest value and the width of its bins. The last bin has no upper end.
LEAST, WIDTH, HISTOGRAM_BINS = 2.0, 0.05, 400


@njit
def tally(sums, n_lanes, scales, observed, maxima, at_least, histogram):
    """Add a chunk of nodes under ``n_lanes`` permutations to what is kept of all.

    ``sums`` (nodes, LANES); ``scales`` and absolute ``observed`` statistics (nodes). ``maxima`` (n_lanes) is the
    largest statistic of each permutation, ``at_least`` (nodes) the number of permutations with a statistic as large as
    the observed one, and ``histogram`` (n_lanes, 2, bins) how many negative and positive statistics of each permutation
    are in each bin.
    """
    for k in range(scales.shape[0]):
        if scales[k] == 0.0:
            continue
        enough = observed[k] * (1.0 - TIE)
        for lane in range(n_lanes):
            signed = sums[k, lane] * scales[k]
            statistic = abs(signed)
            maxima[lane] = max(maxima[lane], statistic)
            if statistic >= enough:
                at_least[k] += 1
            if statistic >= LEAST:
                of_bin = min(int((statistic - LEAST) / WIDTH), HISTOGRAM_BINS - 1)
                histogram[lane, int(signed > 0.0), of_bin] += 1


@njit
def shifted_values(starts, documents, values, strata, sizes):
    """Values less the first of their column and stratum, where the column has all documents of the stratum.

    Each column is multiplied by a power of two, so that the largest of these is near 1: squares are numbers then.
    ``strata`` (documents) and their ``sizes``; the other arguments are those of an index of items.
    """
    shifted = np.empty_like(values)
    counts, firsts = np.zeros(sizes.shape[0], np.int64), np.zeros(sizes.shape[0])
    for k in range(starts.shape[0] - 1):
        for e in range(starts[k], starts[k + 1]):
            stratum = strata[documents[e]]
            if counts[stratum] == 0:
                firsts[stratum] = values[e]
            counts[stratum] += 1
        largest = 0.0
        for e in range(starts[k], starts[k + 1]):
            stratum = strata[documents[e]]
            shifted[e] = values[e] - firsts[stratum] if counts[stratum] == sizes[stratum] else values[e]
            largest = max(largest, abs(shifted[e]))
        exponent = math.frexp(largest)[1]
        for e in range(starts[k], starts[k + 1]):
            shifted[e] = math.ldexp(shifted[e], -exponent)
            counts[strata[documents[e]]] = 0
    return shifted
