"""Bytes in memory, for the paths on which each object counts: a view, a copy, a comparison.

Runs in: every process. These are what they say in Python. In the compiled core a call of one of them is a few machine instructions:
no slice, no object for a number (`compiled_memory.py` has them in C, and says what else is done without objects there).

A buffer here is bytes, a bytearray, or a memoryview of single bytes that lie side by side.
"""

from __future__ import annotations

Buffer = bytes | bytearray | memoryview


def view(buffer: memoryview, start: int, stop: int) -> memoryview:
    """`buffer[start:stop]`, with both ends within it, as a slice is otherwise cut short."""
    return buffer[start:stop]


def copy_in(target: memoryview, position: int, source: Buffer) -> None:
    """Copy all of `source` to a position of `target`. raises ValueError, where it does not fit"""
    target[position : position + len(source)] = source


def is_at(buffer: Buffer, position: int, expected: bytes) -> bool:
    """Whether these bytes lie at a position."""
    return buffer[position : position + len(expected)] == expected
