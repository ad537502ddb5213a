"""The ranks of floats: integers in Spark's order of floats, in which NaN is the largest number.

    bits of the float, and of negative ones all but the sign turned over | of each NaN: the largest integer

Runs in: Python workers. -0.0 comes before 0.0, which is equal to it. Source: IEEE 754 (totalOrder), Spark's `SQLOrderingUtil`.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_WHOLE = {pa.float64(): pa.int64(), pa.float32(): pa.int32()}
_FLOAT = {whole: kind for kind, whole in _WHOLE.items()}


def ranks_of(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Of float64 or float32; null stays null."""
    whole = _WHOLE[values.type]
    return pa.chunked_array(
        [pc.if_else(pc.is_nan(chunk), _largest(whole), _turned(chunk.view(whole))) for chunk in values.chunks], whole
    )


def floats_of(ranks: pa.ChunkedArray) -> pa.ChunkedArray:
    """The floats that have these ranks."""
    kind = _FLOAT[ranks.type]
    return pa.chunked_array([_turned(chunk).view(kind) for chunk in ranks.chunks], kind)


def _turned(whole: pa.Array) -> pa.Array:
    return pc.if_else(pc.less(whole, 0), pc.bit_wise_xor(whole, _largest(whole.type)), whole)


def _largest(whole: pa.DataType) -> pa.Scalar:
    return pa.scalar((1 << (whole.bit_width - 1)) - 1, whole)
