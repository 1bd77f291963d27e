"""Sums of rows in the processor's vectors.

The compiler keeps a sum of rows in single numbers, since it must not take several entries at once (their order is
fixed) and does not see that the columns of a row are independent. As vectors of columns they take a third of the time,
and are the same bits.
"""

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def row_sum(size: int) -> Callable[..., Any]:
    """Make what sums so many columns of rows, for kernels."""

    def twin(lanes, first, entries, start, stop, sums, k):
        """Write sums over ``entries[start:stop]`` of the columns from ``first`` on of ``lanes`` into row k."""
        columns = slice(first, first + size)
        sums[k, columns] = 0.0
        for i in entries[start:stop]:
            sums[k, columns] += lanes[i, columns]

    def typed(_, lanes, first, entries, start, stop, sums, k):
        return types.void(lanes, types.intp, entries, types.intp, types.intp, sums, types.intp), emit

    def emit(context, builder, signature, arguments):
        integer, vector = context.get_value_type(types.intp), ir.VectorType(ir.DoubleType(), size)
        _, first, _, start, stop, _, k = arguments
        lanes, entries, sums = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 2, 5)
        )

        def columns(array, row):
            _, width = cgutils.unpack_tuple(builder, array.shape)
            place = builder.add(builder.mul(row, width), first)
            return builder.bitcast(builder.gep(array.data, [place]), vector.as_pointer())

        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * size))
        with cgutils.for_range_slice(builder, start, stop, ir.Constant(integer, 1), integer) as (e, _):
            i = builder.sext(builder.load(builder.gep(entries.data, [e])), integer)
            row = builder.load(columns(lanes, i), align=8)
            builder.store(builder.fadd(builder.load(total), row), total)
        builder.store(builder.load(total), columns(sums, k), align=8)

    return twin if numba.config.DISABLE_JIT else intrinsic(typed)


sum_four, sum_eight = row_sum(4), row_sum(8)
