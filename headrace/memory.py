"""Memory, for the paths on which each object counts: bytes are viewed, copied, compared; words that processes share are loaded, stored.

Runs in: every process. These are what they say in Python. In the compiled core a call of one of them is a few machine instructions,
without a slice and without an object for a number: `headrace/native/memory.h`, whose README says how a function gets there.

A buffer here is bytes, a bytearray, or a memoryview of single bytes that lie side by side. Words are a memoryview of 64-bit words, `Q`.
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


def load_word(words: memoryview, index: int) -> int:
    """A shared word. What its writer stored before it is seen after this (an acquire; x86-64 has no other loads)."""
    return words[index]


def store_word(words: memoryview, index: int, value: int) -> None:
    """Store a shared word of our own. What we stored before it is seen before it (a release; x86-64 has no other stores)."""
    words[index] = value
