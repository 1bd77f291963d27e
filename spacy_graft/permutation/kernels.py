"""The kernel that reads off one chunk of sums what a permutation test keeps of it."""

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
