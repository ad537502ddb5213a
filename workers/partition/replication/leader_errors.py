"""What becomes of a follower's partition by the error that its leader answers, and how loud that is said.

An error that passes by itself has the partition wait; one of a leader that has a newer epoch has it fail, until the newer role is
known here too. Errors that come with every change of leaders are no news.

Source: Kafka `AbstractFetcherThread.processFetchRequest`, `handleOutOfRangeError`, `maybeTruncateToEpochEndOffsets`.
"""

from __future__ import annotations

import logging
from typing import Final

from headrace.errors import ErrorCode
from headrace.workers.partition.replication.follower_states import FollowerEvent

_log: Final = logging.getLogger(__name__)

_E: Final = ErrorCode
_PASSES: Final = FollowerEvent.REFUSED

# error -> what happens, level of the log line; any other passes, and is an error
_RULES: Final[dict[int, tuple[FollowerEvent, int]]] = {
    _E.FENCED_LEADER_EPOCH: (FollowerEvent.GIVEN_UP, logging.INFO),
    _E.UNKNOWN_LEADER_EPOCH: (_PASSES, logging.DEBUG),
    _E.NOT_LEADER_OR_FOLLOWER: (_PASSES, logging.DEBUG),
    _E.UNKNOWN_TOPIC_OR_PARTITION: (_PASSES, logging.WARNING),
    _E.UNKNOWN_TOPIC_ID: (_PASSES, logging.WARNING),
    _E.INCONSISTENT_TOPIC_ID: (_PASSES, logging.WARNING),
}
_OTHERS: Final = (_PASSES, logging.ERROR)
_KNOWN: Final = frozenset(int(code) for code in ErrorCode)


def event_of(error: int) -> FollowerEvent:
    """What an error other than OFFSET_OUT_OF_RANGE of a fetch does to a partition."""
    return _RULES.get(error, _OTHERS)[0]


def name_of(error: int) -> str:
    return ErrorCode(error).name if error in _KNOWN else str(error)


def say(error: int, place: str) -> None:
    """One line for the first of such errors of a partition."""
    _event, level = _RULES.get(error, _OTHERS)
    _log.log(level, "leader refuses %s error=%s", place, name_of(error))
