"""Sums of rows, and columns of bits, in the processor's vectors.

The compiler keeps a sum of rows in single numbers, since it must not take several entries at once (their order is
fixed) and does not see that the columns of a row are independent. As vectors of columns they take a third of the time,
and are the same bits.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .._numba import njit


def row_sum(size: int, valued: bool) -> Callable[..., Any]:
    """Make what sums so many columns of rows, for kernels; each row times its value if asked.

    Rows and sums are in single or in double precision; what adds up is in double, unless both are in single.
    """

    def twin(lanes, first, entries, values, start, stop, sums, k):
        """Write sums over ``entries[start:stop]`` of the columns from ``first`` on of ``lanes`` into row k."""
        kind = np.promote_types(lanes.dtype, sums.dtype)
        columns, total = slice(first, first + size), np.zeros(size, kind)
        for e in range(start, stop):
            row = lanes[entries[e], columns].astype(kind)
            total += kind.type(values[e]) * row if valued else row
        sums[k, columns] = total

    def typed(_, lanes, first, entries, values, start, stop, sums, k):
        return types.void(lanes, types.intp, entries, values, types.intp, types.intp, sums, types.intp), emit

    def emit(context, builder, signature, arguments):
        integer = context.get_value_type(types.intp)
        kinds = {types.float64: ir.DoubleType(), types.float32: ir.FloatType()}
        stored = {kind: ir.VectorType(numbers, size) for kind, numbers in kinds.items()}
        of_lanes, of_sums = (stored[signature.args[place].dtype] for place in (0, 6))
        vector = of_lanes if of_lanes is of_sums else stored[types.float64]
        _, first, _, _, start, stop, _, k = arguments
        lanes, entries, values, sums = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 2, 3, 6)
        )

        def columns(array, row, kind):
            _, width = cgutils.unpack_tuple(builder, array.shape)
            place = builder.add(builder.mul(row, width), first)
            return builder.bitcast(builder.gep(array.data, [place]), kind.as_pointer())

        def align(kind):
            return 8 if kind is stored[types.float64] else 4

        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * size))
        with cgutils.for_range_slice(builder, start, stop, ir.Constant(integer, 1), integer) as (e, _):
            i = builder.sext(builder.load(builder.gep(entries.data, [e])), integer)
            row = builder.load(columns(lanes, i, of_lanes), align=align(of_lanes))
            if of_lanes is not vector:
                row = builder.fpext(row, vector)
            if valued:
                value = builder.load(builder.gep(values.data, [e]))
                if vector is not stored[types.float64]:
                    value = builder.fptrunc(value, vector.element)
                row = builder.fmul(lanes_with(builder, value, vector.element, size), row)
            builder.store(builder.fadd(builder.load(total), row), total)
        result = builder.load(total)
        if of_sums is not vector:
            result = builder.fptrunc(result, of_sums)
        builder.store(result, columns(sums, k, of_sums), align=align(of_sums))

    return twin if numba.config.DISABLE_JIT else intrinsic(typed)


sum_one, sum_four, sum_eight, sum_sixteen = (row_sum(size, valued=False) for size in (1, 4, 8, 16))
weighted_sum_one, weighted_sum_four, weighted_sum_eight, weighted_sum_sixteen = (
    row_sum(size, valued=True) for size in (1, 4, 8, 16)
)


#: The places of the bits of each byte, ascending, and how many there are.
PLACES = np.array(
    [[*(j for j in range(8) if byte >> j & 1), *(0,) * (8 - byte.bit_count())] for byte in range(256)], np.uint8
)
BIT_COUNTS = np.array([byte.bit_count() for byte in range(256)], np.uint8)


def lanes_with(builder, value, type_, size):
    """A vector of one value."""
    lane = ir.IntType(32)
    one = builder.insert_element(ir.Constant(ir.VectorType(type_, size), ir.Undefined), value, lane(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(lane, size), [0] * size))


def pointer_to_bytes(builder, entries, begin):
    """Where the bytes of int32 ``entries`` are from entry ``begin`` on."""
    return builder.bitcast(builder.gep(entries.data, [begin]), ir.IntType(8).as_pointer())


def add_twin(sums, entries, begin, first, last, value):
    """Add a value to ``sums[8 first : 8 last]`` where the bits that begin with ``entries[begin]`` are set."""
    bits = np.unpackbits(entries[begin:].view(np.uint8)[first:last], bitorder="little").view(np.bool_)
    sums[8 * first : 8 * last][bits] += value


def add_typed(_, sums, entries, begin, first, last, value):
    """What the compiler takes for :func:`add_twin`: eight sums at a time."""

    def emit(context, builder, signature, arguments):
        sums, entries = (context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1))
        _, _, begin, first, last, value = arguments
        integer, number = context.get_value_type(types.intp), ir.DoubleType()
        bits, values = pointer_to_bytes(builder, entries, begin), lanes_with(builder, value, number, 8)
        with cgutils.for_range_slice(builder, first, last, integer(1), integer) as (k, _):
            there = builder.bitcast(builder.load(builder.gep(bits, [k])), ir.VectorType(ir.IntType(1), 8))
            place = builder.gep(sums.data, [builder.mul(k, integer(8))])
            place = builder.bitcast(place, ir.VectorType(number, 8).as_pointer())
            before = builder.load(place, align=8)
            builder.store(builder.select(there, builder.fadd(before, values), before), place, align=8)

    return types.void(sums, entries, types.intp, types.intp, types.intp, types.float64), emit


def places_twin(entries, begin, end, places, counts, out):
    """Write which bits of ``entries[begin:end]`` are set into ``out``, which has room for 8 more; returns how many."""
    found = np.flatnonzero(np.unpackbits(entries[begin:end].view(np.uint8), bitorder="little"))
    out[: len(found)] = found
    return len(found)


def places_typed(_, entries, begin, end, places, counts, out):
    """What the compiler takes for :func:`places_twin`: the places of a byte's bits at a time, from a table."""

    def emit(context, builder, signature, arguments):
        entries, places, counts, out = (
            context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 3, 4, 5)
        )
        _, begin, end = arguments[:3]
        integer, number, byte = context.get_value_type(types.intp), ir.IntType(32), ir.IntType(8)
        bits, n_bytes = pointer_to_bytes(builder, entries, begin), builder.mul(builder.sub(end, begin), integer(4))
        n_found = cgutils.alloca_once_value(builder, integer(0))
        with cgutils.for_range_slice(builder, integer(0), n_bytes, integer(1), integer) as (k, _):
            value = builder.zext(builder.load(builder.gep(bits, [k])), integer)
            of_value = builder.gep(places.data, [builder.mul(value, integer(8))])
            offsets = builder.load(builder.bitcast(of_value, ir.VectorType(byte, 8).as_pointer()), align=1)
            base = lanes_with(builder, builder.trunc(builder.mul(k, integer(8)), number), number, 8)
            found = builder.add(builder.zext(offsets, ir.VectorType(number, 8)), base)
            n_before = builder.load(n_found)
            target = builder.bitcast(builder.gep(out.data, [n_before]), ir.VectorType(number, 8).as_pointer())
            builder.store(found, target, align=4)
            n_more = builder.zext(builder.load(builder.gep(counts.data, [value])), integer)
            builder.store(builder.add(n_before, n_more), n_found)
        return builder.load(n_found)

    return types.intp(entries, types.intp, types.intp, places, counts, out), emit


add_where = add_twin if numba.config.DISABLE_JIT else intrinsic(add_typed)
places_of_bits = places_twin if numba.config.DISABLE_JIT else intrinsic(places_typed)


@njit
def pack_columns(starts, documents, are_bits, new_starts, entries):
    """Write columns into ``entries`` from ``new_starts`` on: bits (zeros before) or documents as they are."""
    for row in range(are_bits.shape[0]):
        begin, n, place = starts[row], starts[row + 1] - starts[row], new_starts[row]
        for e in range(n):
            document = documents[begin + e]
            if are_bits[row]:
                entries[place + document // 32] |= np.uint32(1) << np.uint32(document % 32)
            else:
                entries[place + e] = document
