"""The owners of the logs, asked to change their segments: the housekeeper never does it itself.

Runs in: the housekeeper. A request may get lost with its ring, or with its owner: whoever asked is told nothing then
but that, and asks again when it next looks. Every request can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.errors import ErrorCode
from headrace.limits import REQUESTS_PER_CYCLE_MAX
from headrace.shm.messages import (
    ADMIN,
    ADMIN_HEADER,
    ADMIN_RESULT,
    ADMIN_RESULT_HEADER,
    BASE_OFFSET_ENTRY,
    DELETE_SEGMENTS,
    DELETE_SEGMENTS_HEADER,
    NOTE_SYNCED,
    SWAP_SEGMENTS,
    SWAP_SEGMENTS_HEADER,
    SWAPPED_SEGMENT,
    SYNCED_ENTRY,
    UPKEEP_RESULT,
    DeletionRule,
)
from headrace.shm.seat import Seat
from headrace.workers.housekeeper.hosted import Hosted

# Called with the owner's error code, or None where it died before it answered, or had no answer.
OnAnswer = Callable[[ErrorCode | None], None]
SEGMENTS_PER_REQUEST_MAX = 1_000


class Owners:
    """Requests in flight, by request id."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._pending: dict[int, tuple[int, OnAnswer]] = {}
        self._next_id = 0

    def delete_segments(
        self,
        hosted: Hosted,
        bases: list[int],
        roll_before_ms: int,
        on_answer: OnAnswer,
        rule: DeletionRule = DeletionRule.LOG_START,
        largest_timestamp_ms: int = -1,
    ) -> bool:
        """Ask for the oldest segments to go, and for a roll first where the active one is older than a time.

        rule, largest_timestamp_ms   why they go, and the youngest record in them: for the log line
        returns                      False, where the ring is full
        """
        row = hosted.row
        header = DELETE_SEGMENTS_HEADER.pack(
            hosted.slot, row.key, roll_before_ms, row.end_segment, largest_timestamp_ms, rule
        )
        body = b"".join(map(BASE_OFFSET_ENTRY.pack, bases[:SEGMENTS_PER_REQUEST_MAX]))
        return self._ask(hosted.owner, DELETE_SEGMENTS, header + body, on_answer)

    def swap_segments(self, hosted: Hosted, segments: list[tuple[int, int]], on_answer: OnAnswer) -> bool:
        """Ask for `.cleaned` files to replace segments, (base offset, size) each; False, where the ring is full.

        hosted   as it was when the compaction began: a log that was truncated since refuses
        """
        assert 0 < len(segments) <= SEGMENTS_PER_REQUEST_MAX
        header = SWAP_SEGMENTS_HEADER.pack(hosted.slot, hosted.row.key, hosted.row.segments_version)
        body = b"".join(SWAPPED_SEGMENT.pack(*one) for one in segments)
        return self._ask(hosted.owner, SWAP_SEGMENTS, header + body, on_answer)

    def note_synced(self, hosted: Hosted, recovery_point: int) -> bool:
        """Say that everything below an offset is synced; False, where the ring is full."""
        body = SYNCED_ENTRY.pack(hosted.slot, hosted.row.key, hosted.row.segments_version, recovery_point)
        return self._ask(hosted.owner, NOTE_SYNCED, body, _no_matter)

    def take_answers(self) -> int:
        """Settle what came back, and what never will; returns how many."""
        done = 0
        for process_id in self._seat.changed():
            for request_id in [key for key, (owner, _) in self._pending.items() if owner == process_id]:
                self._pending.pop(request_id)[1](None)
                done += 1
        for reader in self._seat.readers.values():
            messages = reader.poll(REQUESTS_PER_CYCLE_MAX)
            for kind, body in messages:
                if kind != ADMIN_RESULT:
                    continue
                (request_id,) = ADMIN_RESULT_HEADER.unpack_from(body)
                pending = self._pending.pop(request_id, None)
                if pending is not None:
                    answer = body[ADMIN_RESULT_HEADER.size :]
                    pending[1](ErrorCode(UPKEEP_RESULT.unpack(answer)[0]) if len(answer) else None)
                    done += 1
            if messages:
                reader.release()
        return done

    def _ask(self, owner: int, api_key: int, body: bytes, on_answer: OnAnswer) -> bool:
        writer = self._seat.writers[owner]
        if not writer.write(ADMIN, ADMIN_HEADER.pack(self._next_id + 1, api_key, 0), body):
            return False
        self._next_id += 1
        self._pending[self._next_id] = (owner, on_answer)
        writer.commit()
        self._seat.ring(owner)
        return True


def _no_matter(_error: ErrorCode | None) -> None:
    """Whoever was only told something has nothing to answer that matters."""
