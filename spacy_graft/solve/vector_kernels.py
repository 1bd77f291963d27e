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


def row_sum(size: int, valued: bool) -> Callable[..., Any]:
    """Make what sums so many columns of rows, for kernels; each row times its value if asked."""

    def twin(lanes, first, entries, values, start, stop, sums, k):
        """Write sums over ``entries[start:stop]`` of the columns from ``first`` on of ``lanes`` into row k."""
        columns = slice(first, first + size)
        sums[k, columns] = 0.0
        for e in range(start, stop):
            row = lanes[entries[e], columns]
            sums[k, columns] += values[e] * row if valued else row

    def typed(_, lanes, first, entries, values, start, stop, sums, k):
        return types.void(lanes, types.intp, entries, values, types.intp, types.intp, sums, types.intp), emit

    def emit(context, builder, signature, arguments):
        integer, vector = context.get_value_type(types.intp), ir.VectorType(ir.DoubleType(), size)
        _, first, _, _, start, stop, _, k = arguments
        lanes, entries, values, sums = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 2, 3, 6)
        )

        def columns(array, row):
            _, width = cgutils.unpack_tuple(builder, array.shape)
            place = builder.add(builder.mul(row, width), first)
            return builder.bitcast(builder.gep(array.data, [place]), vector.as_pointer())

        def of_all_columns(value):
            index = ir.IntType(32)
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, index(0))
            return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(index, size), [0] * size))

        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * size))
        with cgutils.for_range_slice(builder, start, stop, ir.Constant(integer, 1), integer) as (e, _):
            i = builder.sext(builder.load(builder.gep(entries.data, [e])), integer)
            row = builder.load(columns(lanes, i), align=8)
            if valued:
                row = builder.fmul(of_all_columns(builder.load(builder.gep(values.data, [e]))), row)
            builder.store(builder.fadd(builder.load(total), row), total)
        builder.store(builder.load(total), columns(sums, k), align=8)

    return twin if numba.config.DISABLE_JIT else intrinsic(typed)


sum_one, sum_four, sum_eight = (row_sum(size, valued=False) for size in (1, 4, 8))
weighted_sum_one, weighted_sum_four, weighted_sum_eight = (row_sum(size, valued=True) for size in (1, 4, 8))
