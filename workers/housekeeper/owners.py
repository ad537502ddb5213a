"""The owners of the logs, asked to change their segments: the housekeeper never does it itself.

Runs in: the housekeeper. Where an owner dies with a request, or refuses it, the asker is told nothing but that, and asks
again at its next scan. Every request can be repeated.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable

from headrace.errors import ErrorCode
from headrace.limits import SEGMENTS_PER_REQUEST_MAX
from headrace.log.retention import retention_of
from headrace.log.state.checkpoints import OFFSET_MAX
from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import (
    BASE_OFFSET_ENTRY,
    DELETE_SEGMENTS_HEADER,
    SWAP_SEGMENTS_HEADER,
    SWAPPED_SEGMENT,
    SYNCED_ENTRY,
    UPKEEP_RESULT,
    DeletionRule,
    ReplyStatus,
    RequestKind,
)
from headrace.workers.housekeeper.hosted import Hosted

# Called with the owner's error code, or None where it died before it answered, or had no answer.
OnAnswer = Callable[[ErrorCode | None], None]

_log = logging.getLogger(__name__)


class Owners:
    """What the housekeeper asks of the owners of logs."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    def delete_segments(
        self,
        hosted: Hosted,
        bases: list[int],
        roll_before_ms: int,
        on_answer: OnAnswer,
        rule: DeletionRule = DeletionRule.LOG_START,
        largest_timestamp_ms: int = -1,
        durable_start: int = OFFSET_MAX,
    ) -> bool:
        """Ask for the oldest segments to go, and for a roll first where the active one is older than a time.

        hosted                       as it was before the segments were scanned: a log that was cut since, or had some swapped, refuses; its
                                     settings are those by which the segments were judged: a log that has others refuses, too
        rule, largest_timestamp_ms   why they go, and the youngest record in them: for the log line
        durable_start                log start in the checkpoint on disk: of what ends after it only the log start moves
        returns                      False, where too much waits for the owner already
        """
        row = hosted.row
        header = DELETE_SEGMENTS_HEADER.pack(
            hosted.slot, row.key, row.segments_version, roll_before_ms, row.end_segment, largest_timestamp_ms,
            durable_start, *retention_of(hosted.config), rule,
        )  # fmt: skip
        body = b"".join(map(BASE_OFFSET_ENTRY.pack, bases[:SEGMENTS_PER_REQUEST_MAX]))
        return self._ask(hosted.owner, RequestKind.DELETE_SEGMENTS, header + body, on_answer)

    def swap_segments(self, hosted: Hosted, segments: list[tuple[int, int]], on_answer: OnAnswer) -> bool:
        """Ask for `.cleaned` files to replace segments, (base offset, size) each; False: too much waits already.

        hosted   as it was when the compaction began: a log that was truncated since refuses
        """
        assert 0 < len(segments) <= SEGMENTS_PER_REQUEST_MAX
        header = SWAP_SEGMENTS_HEADER.pack(hosted.slot, hosted.row.key, hosted.row.segments_version)
        body = b"".join(SWAPPED_SEGMENT.pack(*one) for one in segments)
        return self._ask(hosted.owner, RequestKind.SWAP_SEGMENTS, header + body, on_answer)

    def note_synced(self, hosted: Hosted, since_version: int, recovery_point: int, on_answer: OnAnswer) -> bool:
        """Say that everything below an offset is synced; False: too much waits already.

        since_version   of the row from whose recovery point on it was synced: a log that was cut since refuses
        """
        body = SYNCED_ENTRY.pack(hosted.slot, hosted.row.key, since_version, recovery_point)
        return self._ask(hosted.owner, RequestKind.NOTE_SYNCED, body, on_answer)

    def _ask(self, owner: int, kind: RequestKind, body: bytes, on_answer: OnAnswer) -> bool:
        def on_reply(status: ReplyStatus, reply: memoryview) -> None:
            on_answer(_error_in(reply) if status is ReplyStatus.ANSWERED else None)

        is_sent = self._mailbox.ask(owner, kind, body, on_reply)
        self._mailbox.flush()  # what a long scan has found does not wait for its end
        return is_sent


def _error_in(reply: memoryview) -> ErrorCode | None:
    """None for what is no answer of an owner."""
    try:
        return ErrorCode(UPKEEP_RESULT.unpack(reply)[0])
    except (struct.error, ValueError) as failure:
        _log.warning("owner's response rejected reason=%s", failure)
        return None
