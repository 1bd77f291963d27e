"""Kernels of the restricted problem: products with the active columns, and coordinate descent on a quadratic model.

Labels come first: ``probabilities``, ``moved`` and the like are float64 (labels, documents), so that what belongs to
one coordinate lies together. Pair ``j`` has label ``labels[j]`` and the documents
``documents[starts[rows[j]] : starts[rows[j] + 1]]``. A feature's value in document ``i`` is ``scale[i]`` (a_i) if it
occurs there.
"""

from .._numba import njit


@njit
def spread(starts, documents, rows, labels, weights, sums):
    """Add each pair's weight to all its documents: sums (labels, documents) += X w, without the document weights."""
    for j in range(rows.shape[0]):
        weight = weights[j]
        if weight != 0.0:
            out = sums[labels[j]]
            for e in range(starts[rows[j]], starts[rows[j] + 1]):
                out[documents[e]] += weight


@njit
def column_sum(values, documents, start, stop):
    """Sum of ``values`` over ``documents[start:stop]``, in four interleaved sums that need not wait for one another."""
    a = b = c = d = 0.0
    e = start
    while e + 3 < stop:
        a += values[documents[e]]
        b += values[documents[e + 1]]
        c += values[documents[e + 2]]
        d += values[documents[e + 3]]
        e += 4
    while e < stop:
        a += values[documents[e]]
        e += 1
    return (a + b) + (c + d)


@njit
def collect(starts, documents, rows, labels, values, sums):
    """Sum values (labels, documents) over each pair's documents: sums = Xᵀ values, document weights already in it."""
    for j in range(rows.shape[0]):
        sums[j] = column_sum(values[labels[j]], documents, starts[rows[j]], starts[rows[j] + 1])


@njit
def soft_threshold(x, threshold):
    if x > threshold:
        return x - threshold
    if x < -threshold:
        return x + threshold
    return 0.0


@njit
def descent_sweep(starts, documents, rows, labels, order, scale, penalty, gradient, curvature, l1, l2,
                  probabilities, slope, moved, mean_moved, weights):  # fmt: skip
    """One sweep of coordinate descent over the pairs in ``order``, on the quadratic model of the likelihood.

    The model's Hessian is that of the softmax, s_i (diag p_i - p_i p_iᵀ). ``moved`` (labels, documents) is the change
    of the scores so far and ``mean_moved`` (documents) its mean under ``probabilities``; ``slope`` is s a p. The
    gradient of pair (k, y) is then ``gradient - Σ_i∈k slope_yi (moved_yi - mean_moved_i)``.

    Returns
    -------
    float
        The largest change of a coordinate, in units of |v| / λ.
    """
    largest = 0.0
    for j in order:
        y = labels[j]
        slope_y, moved_y, probability_y = slope[y], moved[y], probabilities[y]
        v = gradient[j] - 2.0 * l2[j] * weights[j]
        for e in range(starts[rows[j]], starts[rows[j] + 1]):
            i = documents[e]
            v -= slope_y[i] * (moved_y[i] - mean_moved[i])
        h = curvature[j] + 2.0 * l2[j]
        weight = soft_threshold(weights[j] + v / h, l1[j] / h)
        step = weight - weights[j]
        if step != 0.0:
            weights[j] = weight
            for e in range(starts[rows[j]], starts[rows[j] + 1]):
                i = documents[e]
                moved_y[i] += scale[i] * step
                mean_moved[i] += probability_y[i] * scale[i] * step
            largest = max(largest, abs(step) * h / penalty[j])
    return largest


@njit
def intercept_sweep(gradient, curvature, importance, probabilities, moved, mean_moved, intercepts):
    """The same for the intercepts, one label after the other."""
    largest = 0.0
    for y in range(probabilities.shape[0]):
        v = gradient[y]
        for i in range(moved.shape[1]):
            v -= importance[i] * probabilities[y, i] * (moved[y, i] - mean_moved[i])
        step = v / curvature[y]
        intercepts[y] += step
        for i in range(moved.shape[1]):
            moved[y, i] += step
            mean_moved[i] += probabilities[y, i] * step
        largest = max(largest, abs(v))
    return largest
