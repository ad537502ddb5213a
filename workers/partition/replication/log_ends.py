"""Where a leader's log ends and where it begins: two ListOffsets requests, whose answers count together.

Runs in: a partition worker, made by `fetcher.py`, for partitions that are RESETTING (`follower_states.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headrace.limits import FETCH_PAUSE_FIRST_MS
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.runtime.peer_request import Outcome
from headrace.workers.partition.replication.fetch_options import FetchOptions
from headrace.workers.partition.replication.followed import Followed
from headrace.workers.partition.replication.leader_connection import LeaderConnection
from headrace.workers.partition.replication.leader_questions import EARLIEST, LATEST, offset_answers, offsets_request

End = tuple[int, int]  # error, offset


class LogEnds:
    """Those of the logs of one leader.

    on_known   called with each partition that was asked about, its beginning and its end; None: the answer left it out
    """

    __slots__ = ("_connection", "_latest", "_on_known", "_options")

    def __init__(
        self,
        connection: LeaderConnection,
        options: FetchOptions,
        on_known: Callable[[Followed, End | None, End | None], None],
    ) -> None:
        self._connection = connection
        self._options = options
        self._on_known = on_known
        self._latest: dict[Followed, End] = {}  # the first half

    def ask(self, asked: list[Followed]) -> int:
        """Ask for both ends; returns whether something was asked."""
        if not asked:
            return 0
        self._latest = {}
        version = self._options.versions.list_offsets
        for timestamp, take in ((LATEST, self._take_latest), (EARLIEST, self._take_earliest)):
            request = offsets_request(self._options.node_id, asked, timestamp)
            if not self._connection.ask(ApiKey.LIST_OFFSETS, version, request, partial(take, asked)):
                self._connection.settle()
                self._connection.pause(FETCH_PAUSE_FIRST_MS)
                return 0
        return 1

    def _take_latest(
        self, asked: list[Followed], answer: messages.ListOffsetsResponse | None, outcome: Outcome
    ) -> None:
        if answer is not None:
            self._latest = offset_answers(answer, asked)
            return
        self._connection.settle()
        if outcome is Outcome.ANSWERED:
            self._connection.pause(FETCH_PAUSE_FIRST_MS)

    def _take_earliest(
        self, asked: list[Followed], answer: messages.ListOffsetsResponse | None, outcome: Outcome
    ) -> None:
        self._connection.settle()
        latest, self._latest = self._latest, {}
        if answer is None:
            if outcome is Outcome.ANSWERED:
                self._connection.pause(FETCH_PAUSE_FIRST_MS)
            return
        self._connection.note_success()
        earliest = offset_answers(answer, asked)
        for followed in asked:
            self._on_known(followed, earliest.get(followed), latest.get(followed))
