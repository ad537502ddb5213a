"""A buffer of frames that may lie in the arena, where partition workers append from what was received.

Runs in: a network worker. Frames are found by its owner, the connection (`connection.py`). Where the next bytes go:

    the frame fits after what is there        there
    nothing in the block is pinned            to its front, with what there is of the frame
    the arena has room                        into another block, with what there is of the frame; the old one is left to its pins
    it has none                               into memory of the connection, from which batches are copied

Who has placed nothing for UNPLACED_RECEIVES_MAX receives has no block any more, until a large batch comes again; who brings frames that
the arena does not hold has none either.

A block for small frames is filled by them one after the other. A large one (above RECEIVE_BYTES_BUSY) is received to its end and no
further, so that the next begins a block, and only what came before its size was known is moved.
"""

from __future__ import annotations

from headrace.limits import PLACED_BYTES_MIN, RECEIVE_BYTES_BUSY, UNPLACED_RECEIVES_MAX
from headrace.memory import copy_in, view
from headrace.protocol.frames import unpack_size
from headrace.protocol.stream import SIZE_BYTES, FrameBuffer
from headrace.workers.network.connections.receive_arena import Block, ReceiveArena


class PlacedFrames(FrameBuffer):
    """A frame buffer that takes blocks of an arena while `is_placing`.

    block        that is received into; None: memory of its own
    is_placing   its owner's batches are large enough to be appended from where they are received
    """

    __slots__ = ("_arena", "_large_bytes", "_receives", "block", "is_placing")

    def __init__(self, arena: ReceiveArena | None) -> None:
        super().__init__()
        self._arena = arena
        self._large_bytes = 0  # of the last frame, where that was large: the next one is taken for such a one
        self._receives = 0  # since a batch was placed
        self.block: Block | None = None
        self.is_placing = False

    def place_of(self, body_bytes: int, position: int) -> int:
        """Where a position of the body that ends the last frame lies in the arena; -1, where it does not lie there."""
        block = self.block
        self._receives = 0
        return -1 if block is None else block.place + self._start - body_bytes + position

    def begin_placing(self) -> None:
        """Large batches come: receive the next frames where they can stay."""
        self.is_placing = self._arena is not None
        self._receives = 0

    def _make_place(self) -> int:
        """`_make_room`, in the arena where that has room; returns where the next receive has to stop."""
        arena = self._arena
        assert arena is not None
        left = self._end - self._start
        self._receives += 1
        if self._large_bytes > arena.frame_bytes_max or (self._receives > UNPLACED_RECEIVES_MAX and not left):
            self.is_placing = self._receives <= UNPLACED_RECEIVES_MAX
            self._leave_block()
            self._make_room()
            return len(self._buffer)
        frame_bytes = SIZE_BYTES + unpack_size(self._buffer, self._start) if left >= SIZE_BYTES else 0
        needed = max(frame_bytes, left + 1)
        if not frame_bytes:
            needed = max(left + PLACED_BYTES_MIN, self._large_bytes)
        wanted = max(needed, arena.usual_bytes)
        is_too_large = not left and len(self._buffer) > 2 * wanted
        if (is_too_large or not self._has_place(needed)) and not self._move(wanted):
            self._leave_block()
            self._make_room()
        start, end, stop = self._start, self._end, len(self._buffer)
        if frame_bytes > RECEIVE_BYTES_BUSY and frame_bytes > left:
            return min(stop, start + frame_bytes)
        return min(stop, max(start + frame_bytes, end + RECEIVE_BYTES_BUSY))

    def _is_placed(self, frame_bytes: int) -> bool:
        """Whether the large frame that has begun has a block to be received into, after this call."""
        return self.is_placing and (self._has_place(frame_bytes) or self._move(frame_bytes))

    def _has_place(self, frame_bytes: int) -> bool:
        """Whether the block holds what is there of a frame, and its rest, after this call."""
        block = self.block
        if block is None:
            return False
        capacity = len(self._buffer)
        if capacity - self._start >= frame_bytes:
            return True
        if block.pins or capacity < frame_bytes:
            return False
        self._put(self._buffer)
        return True

    def _move(self, size_bytes: int) -> bool:
        """What is there of a frame into another block, of this size or more; False, where the arena has none."""
        arena = self._arena
        if arena is None or size_bytes > arena.frame_bytes_max:
            return False
        taken = arena.take(size_bytes)
        if taken is None:
            return False
        self._put(taken.memory)
        self._let_block_go()
        self.block = taken
        self._drop_own()
        return True

    def _leave_block(self) -> None:
        """Into memory of its own again, with what is there of a frame."""
        if self.block is not None:
            self._put(memoryview(bytearray(max(RECEIVE_BYTES_BUSY, self._end - self._start))))
            self._let_block_go()

    def _let_block_go(self) -> None:
        """The buffer is, or will be, elsewhere."""
        block, self.block = self.block, None
        if block is not None:
            block.leave()

    def _put(self, memory: memoryview) -> None:
        """What was received and not taken, to the front of other memory, or of its own."""
        start, end = self._start, self._end
        if start < end:
            if memory is self._buffer:
                memory[: end - start] = memory[start:end]  # they may overlap
            else:
                copy_in(memory, 0, view(self._buffer, start, end))
        self._buffer = memory
        self._start, self._end = 0, end - start

    def _drop_own(self) -> None:
        """Memory of its own is no longer needed."""
