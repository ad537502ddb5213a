"""Shared memory as the other process may see it: stores one by one, loads one by one, store buffers.

The code under test runs unchanged on these stand-ins for `Region.words`, `Region.memory` and `struct.Struct`.
What they take from the machine and from CPython:

    words[i] = v             one store of 8 bytes
    memory[a:b] = data       stores of 8 bytes, in an order that the C library chooses (we try both directions)
    Struct("=...")           copies fields of 8 bytes each by one store
    Struct(">Q")             stores its bytes one by one, the last first (`bp_ulonglong` in _struct.c)
    x86-64                   stores become visible in their order, but later than the same core's next loads:
                             a store buffer for each process, emptied by a fence

`explore` walks every interleaving of two programs on such store buffers. A program is a function of a `Port`;
it is run again from its start for every load it makes, so it needs no threads.
"""

import itertools
import struct
from collections.abc import Callable, Iterator
from typing import Any

WORD = 8
Store = tuple[int, bytes]


class ModelRegion:
    """A region over a bytearray, with the parts of `Region` that the ends use."""

    def __init__(self, data: bytearray, words: Any = None, memory: Any = None) -> None:
        self.name = "/model"
        self.size_bytes = len(data)
        self.memory = memory if memory is not None else memoryview(data)
        self.words = words if words is not None else memoryview(data).cast("Q")

    def close(self) -> None:
        pass


class Recorder:
    """A region whose stores are noted, one by one, while they happen."""

    def __init__(self, data: bytes, is_backward: bool = False) -> None:
        self.data = bytearray(data)
        self.stores: list[Store] = []
        self.is_backward = is_backward

    def region(self) -> ModelRegion:
        return ModelRegion(self.data, _Words(self), _Memory(self))

    def store(self, position: int, data: bytes) -> None:
        self.data[position : position + len(data)] = data
        self.stores.append((position, bytes(data)))

    def copy_in(self, position: int, data: bytes) -> None:
        chunks = [(position + index, data[index : index + WORD]) for index in range(0, len(data), WORD)]
        for place, chunk in reversed(chunks) if self.is_backward else chunks:
            self.store(place, chunk)

    def before_load(self) -> None:
        """A place to let the other process go on."""


class MovingMemory(Recorder):
    """A region in which the other process's stores happen between our loads: `schedule[i]` of them before load i."""

    def __init__(self, data: bytes, foreign: list[Store], schedule: list[int]) -> None:
        super().__init__(data)
        self._foreign = iter(foreign)
        self._schedule = iter(schedule)

    def before_load(self) -> None:
        for position, data in itertools.islice(self._foreign, next(self._schedule, 0)):
            self.data[position : position + len(data)] = data


class _Words:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __getitem__(self, index: int) -> int:
        self._recorder.before_load()
        return int.from_bytes(self._recorder.data[index * WORD : index * WORD + WORD], "little")

    def __setitem__(self, index: int, value: int) -> None:
        self._recorder.store(index * WORD, value.to_bytes(WORD, "little"))


class _Memory:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __getitem__(self, place: Any) -> Any:
        self.recorder.before_load()
        return memoryview(self.recorder.data)[place]

    def __setitem__(self, place: Any, data: Any) -> None:
        if isinstance(place, slice):
            self.recorder.copy_in(place.start, bytes(data))
        else:
            self.recorder.store(place, bytes([data]))


class ModelStruct(struct.Struct):
    """`struct.Struct` with its stores and loads in the order CPython makes them."""

    def pack_into(self, buffer: Any, offset: int, *values: Any) -> None:
        if not isinstance(buffer, _Memory):
            super().pack_into(buffer, offset, *values)
            return
        data = self.pack(*values)
        for start in range(0, len(data), WORD):
            if self.format[0] in ">!":
                for index in reversed(range(start, start + WORD)):
                    buffer.recorder.store(offset + index, data[index : index + 1])
            else:
                buffer.recorder.store(offset + start, data[start : start + WORD])

    def unpack_from(self, buffer: Any, offset: int = 0) -> tuple[Any, ...]:
        if not isinstance(buffer, _Memory):
            return super().unpack_from(buffer, offset)
        data = b"".join(bytes(buffer[offset + start : offset + start + WORD]) for start in range(0, self.size, WORD))
        return self.unpack(data)


def prefixes(before: bytes, stores: list[Store]) -> Iterator[bytearray]:
    """The memory after none, one, two, ... all of the stores: what a process killed in between leaves."""
    data = bytearray(before)
    yield bytearray(data)
    for position, chunk in stores:
        data[position : position + len(chunk)] = chunk
        yield bytearray(data)


# Store buffers


class _Suspended(BaseException):
    """The program needs the answer of a load that has not been made yet."""


class Port:
    """One process's side of the memory: loads are answered from a script, everything is noted."""

    def __init__(self, answers: tuple[int, ...]) -> None:
        self.operations: list[tuple[Any, ...]] = []
        self._answers = iter(answers)

    def load(self, place: str | int) -> int:
        self.operations.append(("load", place))
        for answer in self._answers:
            return answer
        raise _Suspended

    def store(self, place: str | int, value: int) -> None:
        self.operations.append(("store", place, value))

    def fence(self) -> None:
        self.operations.append(("fence",))

    def ring(self) -> None:
        self.operations.append(("ring",))

    def drain(self) -> None:
        self.operations.append(("drain",))

    def sleep(self) -> None:
        """Until the bell rings; there is no timeout here, so that a lost wake-up shows."""
        self.operations.append(("sleep",))

    def __getitem__(self, index: int) -> int:
        return self.load(index)

    def __setitem__(self, index: int, value: int) -> None:
        self.store(index, value)


Program = Callable[[Port], None]
# for each process: answers so far, operations done, store buffer
Process = tuple[tuple[int, ...], int, tuple[tuple[Any, int], ...]]
State = tuple[tuple[Process, ...], frozenset[tuple[Any, int]], int]


def explore(programs: list[Program]) -> str | None:
    """Walk all interleavings; None, or the sentence that says how a process sleeps for ever."""
    start: State = (tuple(((), 0, ()) for _ in programs), frozenset(), 0)
    todo, seen = [start], {start}
    while todo:
        state = todo.pop()
        following = [after for index in range(len(programs)) for after in _steps(programs, state, index)]
        if not following and any(_next_operation(programs[i], p) is not None for i, p in enumerate(state[0])):
            return f"sleeps for ever in state {state}"
        for after in following:
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return None


def _next_operation(program: Program, process: Process) -> tuple[Any, ...] | None:
    answers, done, _buffer = process
    port = Port(answers)
    try:
        program(port)
    except _Suspended:
        pass
    return port.operations[done] if done < len(port.operations) else None


def _steps(programs: list[Program], state: State, index: int) -> Iterator[State]:
    """Where process `index` can go from here: its oldest store leaves the buffer, or its next operation is done."""
    processes, memory, bell = state
    answers, done, buffer = processes[index]

    def become(process: Process, memory: frozenset[tuple[Any, int]] = memory, bell: int = bell) -> State:
        return (*processes[:index], process, *processes[index + 1 :]), memory, bell

    if buffer:
        yield become((answers, done, buffer[1:]), frozenset({**dict(memory), buffer[0][0]: buffer[0][1]}.items()))
    operation = _next_operation(programs[index], processes[index])
    if operation is None:
        return
    match operation[0]:
        case "load":
            value = {**dict(memory), **dict(buffer)}.get(operation[1], 0)
            yield become(((*answers, value), done + 1, buffer))
        case "store":
            yield become((answers, done + 1, (*buffer, (operation[1], operation[2]))))
        case "fence" if not buffer:
            yield become((answers, done + 1, buffer))
        case "ring":
            yield become((answers, done + 1, buffer), bell=1)
        case "drain":
            yield become((answers, done + 1, buffer), bell=0)
        case "sleep" if bell:
            yield become((answers, done + 1, buffer))
