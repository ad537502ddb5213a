"""CRC-32C as a kernel, so that the walk over batches checks each of them without leaving compiled code.

Runs in: Spark's Python workers. With SSE4.2 three streams go through the processor's `crc32` instruction side by side (its latency is
three cycles, one can begin in each) and are joined by a table; elsewhere eight tables serve. A call of the `crc32c` package for each
batch costs a microsecond around it, which is much for a batch of one record.

Source: RFC 3720; the joining as in Mark Adler's crc32c.c.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from headrace.arrow.compiled import compiled, config
from headrace.arrow.memory import load_word
from headrace.checksum import crc32c as library_crc32c

STREAM_BYTES = 256  # of each of the three: 20 GB/s from memory, where 512 and 1,024 take it at 6.5 (they run away from the prefetcher)
SHORT_BYTES = 64  # in what is left, or in a short batch
ALL_ONES = 0xFFFFFFFF


def has_instruction() -> bool:
    """Whether Numba compiles for a processor with the `crc32` instruction."""
    is_forced = bool(config.CPU_NAME or config.CPU_FEATURES)  # for a processor that is not this one
    return platform.machine() == "x86_64" and not is_forced and binding.get_host_cpu_features().get("sse4.2", False)


def _behind_zeros(zeros: int) -> Any:
    """What each byte of a CRC's state adds to the state after this many zero bytes: a CRC is linear."""
    table = np.zeros((4, 256), np.uint32)
    for place in range(4):
        for byte in range(256):
            state = byte << (8 * place)
            table[place, byte] = ALL_ONES ^ library_crc32c(bytes(zeros), ALL_ONES ^ state)
    return table


BEHIND_STREAM = _behind_zeros(STREAM_BYTES)
BEHIND_SHORT = _behind_zeros(SHORT_BYTES)
BEHIND_BYTE = _behind_zeros(1)[0]
BEHIND_BYTES = np.stack([_behind_zeros(8 - place)[0] for place in range(8)])  # by the byte's place in a word


@intrinsic
def _instruction(typing_context: Any, state: Any, word: Any) -> Any:
    """The state after eight more bytes, by the processor."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64), ir.IntType(64)])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse42.crc32.64.64")  # type: ignore[no-untyped-call]
        return builder.call(function, arguments)

    return types.uint64(types.uint64, types.uint64), generate


@compiled()
def _joined(table: Any, state: Any, following: Any) -> Any:
    """The state after two streams: that of the first as if the second were zeros, and that of the second begun with 0."""
    return (
        np.uint64(table[0, state & np.uint64(255)])
        ^ np.uint64(table[1, (state >> np.uint64(8)) & np.uint64(255)])
        ^ np.uint64(table[2, (state >> np.uint64(16)) & np.uint64(255)])
        ^ np.uint64(table[3, (state >> np.uint64(24)) & np.uint64(255)])
        ^ following
    )


@compiled()
def _in_streams(begin: int, end: int, size: int, table: Any, state: Any) -> Any:
    """The state after as many triples of streams of `size` bytes as lie between two addresses."""
    while end - begin >= 3 * size:
        second, third = np.uint64(0), np.uint64(0)
        for place in range(begin, begin + size, 8):
            state = _instruction(state, load_word(place))  # type: ignore[call-arg]
            second = _instruction(second, load_word(place + size))
            third = _instruction(third, load_word(place + 2 * size))
        state = _joined(table, _joined(table, state, second), third)
        begin += 3 * size
    return state


@compiled()
def _by_instruction(data: Any, position: int, end: int) -> Any:
    """CRC-32C of data[position:end], which lies inside of `data`."""
    state = np.uint64(ALL_ONES)
    source = data.ctypes.data
    state = _in_streams(source + position, source + end, STREAM_BYTES, BEHIND_STREAM, state)
    position = end - (end - position) % (3 * STREAM_BYTES)
    state = _in_streams(source + position, source + end, SHORT_BYTES, BEHIND_SHORT, state)
    position = end - (end - position) % (3 * SHORT_BYTES)
    while end - position >= 8:
        state = _instruction(state, load_word(source + position))  # type: ignore[call-arg]
        position += 8
    return _by_byte(data, position, end, state)


@compiled()
def _by_tables(data: Any, position: int, end: int) -> Any:
    """The same without the instruction."""
    state = np.uint64(ALL_ONES)
    while end - position >= 8:
        following = np.uint64(0)
        for place in range(8):
            byte = np.uint64(data[position + place]) ^ ((state >> np.uint64(8 * place)) & np.uint64(255))
            following ^= np.uint64(BEHIND_BYTES[place, byte])
        state = following
        position += 8
    return _by_byte(data, position, end, state)


@compiled()
def _by_byte(data: Any, position: int, end: int, state: Any) -> Any:
    while position < end:
        byte = (state ^ np.uint64(data[position])) & np.uint64(255)
        state = (state >> np.uint64(8)) ^ np.uint64(BEHIND_BYTE[byte])
        position += 1
    return np.int64(state ^ np.uint64(ALL_ONES))


crc32c: Any = _by_instruction if has_instruction() else _by_tables
