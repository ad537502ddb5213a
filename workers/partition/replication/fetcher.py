"""Fetches from one leader broker all partitions of this worker that follow it. It never waits: requests out, answers by callback.

Runs in: a partition worker, made by `fetchers.py`. One request is in flight at a time, and the next is chosen by the states
(`follower_states.py`):

    1  some are TRUNCATING     OffsetForLeaderEpoch for them all; those without epochs are cut to their high watermark at once
    2  some are RESETTING      ListOffsets for them all, its end and its beginning
    3  some are FETCHING       Fetch: the leader waits for news of any of them (`replica.fetch.wait.max.ms`)

    Fetch, answered -> [append a slice, check the clock]... -> Fetch again, which names what has moved

An answer lies where it was received, in the fetcher's buffer, and is appended from there. That takes FETCHED_CYCLE_MS_MAX of a
cycle; the rest waits in the buffer for the next one. A partition that was dropped meanwhile, has another epoch, or another end
than was asked for takes nothing of it.

A leader that is away costs nothing: its `Peer` backs off, and the request waits in it.

For each answer: one pass over what it names; for each partition in it one append (CRC-32C, one `pwritev` for 512 KiB or a batch)
and one row; copies of ours: none above 4 KiB.

Source: Kafka `AbstractFetcherThread`, `RemoteLeaderEndPoint`; KIP-74, KIP-227, KIP-320, KIP-595, KIP-903.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from headrace.clock import Clock
from headrace.errors import ErrorCode
from headrace.limits import (
    FETCH_BUFFER_BYTES_MAX,
    FETCH_PAUSE_FIRST_MS,
    FETCHED_SLICE_BYTES,
    REOPEN_INTERVAL_MS,
)
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peers import Peers
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replication import leader_errors
from headrace.workers.partition.replication.fetch_answer import FetchAnswer, FetchedPart, read_answer
from headrace.workers.partition.replication.fetch_options import FetchOptions
from headrace.workers.partition.replication.fetch_request import build_request
from headrace.workers.partition.replication.fetch_session import FetchSession
from headrace.workers.partition.replication.followed import Followed
from headrace.workers.partition.replication.follower_states import FollowerEvent, FollowerState
from headrace.workers.partition.replication.leader_connection import LeaderConnection
from headrace.workers.partition.replication.leader_questions import epoch_answers, epochs_request
from headrace.workers.partition.replication.log_ends import LogEnds
from headrace.workers.partition.replication.throttle import Throttle

_FRAME_BYTES: Final = 256 << 10  # of an answer besides its records: some thousand partitions

_log: Final = logging.getLogger(__name__)


class Fetcher:
    """Of one leader.

    leader         its node id
    broker_epoch   our own, which requests carry; -1: not known
    delay          called with a partition and the length of its pause, returns the serial of a timer; `resume` follows
    cancel         called with such a serial
    on_cut         called with a replica whose log was cut, or restarted
    throttle       of all fetchers of this worker
    """

    def __init__(
        self,
        leader: int,
        options: FetchOptions,
        peers: Peers,
        clock: Clock,
        delay: Callable[[Followed, int], int],
        cancel: Callable[[int], None],
        on_cut: Callable[[Replica], None],
        throttle: Throttle,
    ) -> None:
        self.leader = leader
        self._throttle = throttle
        self.broker_epoch = -1
        self._options = options
        self._clock = clock
        self._delay = delay
        self._cancel = cancel
        self._on_cut = on_cut
        self._connection = LeaderConnection(leader, options, peers, clock, self._doubt)
        self._ends = LogEnds(self._connection, options, self._reset)
        self._partitions: dict[Followed, None] = {}
        self._truncating: dict[Followed, None] = {}
        self._resetting: dict[Followed, None] = {}
        self._touched: dict[Followed, None] = {}  # of those FETCHING: what a request says of them may be another
        self._session: FetchSession[Followed] = FetchSession(options.partition_bytes_max)
        self._answer: deque[tuple[Followed, FetchedPart]] = deque()  # what is to be applied still
        self._place = 0  # in the records of the first of these, up to where they are in its log
        self._expected = -1  # where its log ends, if nobody has touched it
        self._buffer: memoryview | None = None

    def __len__(self) -> int:
        """Partitions, those that failed too."""
        return len(self._partitions)

    def __contains__(self, followed: Followed) -> bool:
        return followed in self._partitions

    @property
    def is_asking(self) -> bool:
        return self._connection.is_asking

    @property
    def pause_until_ms(self) -> int:
        """Until when nothing is asked; over: 0."""
        return self._connection.pause_until_ms

    def connect(self, host: str, port: int) -> None:
        """The broker is there, maybe at another place than before."""
        if not self._connection.is_at(host, port):
            self.disconnect()
            self._connection.connect(host, port)

    def disconnect(self) -> None:
        """Nothing is asked of it until it is there again."""
        self._answer.clear()
        if self._connection.is_open:
            self._session.reset(is_known=False)
        self._connection.disconnect()

    def add(self, followed: Followed) -> None:
        """Follow the leader with one more partition."""
        self._partitions[followed] = None
        if followed.replica.log.owes_sync:
            self._settle(followed, FollowerEvent.REFUSED)  # the leader would take the offset of a fetch for synced
        else:
            self._enroll(followed)

    def remove(self, followed: Followed) -> None:
        """It follows no more: nothing that comes is applied to it."""
        del self._partitions[followed]
        self._truncating.pop(followed, None)
        self._resetting.pop(followed, None)
        self._touched.pop(followed, None)
        self._session.drop(followed)
        self._cancel(followed.timer)
        followed.timer = 0

    def touch(self, followed: Followed) -> None:
        """Its log is another than the leader was told."""
        if followed.state is FollowerState.FETCHING:
            self._touched[followed] = None

    def resume(self, followed: Followed) -> None:
        """Its pause is over, but for what is owed still."""
        pause_ms = self._throttle.pause_ms(followed.replica.partition, self._clock.monotonic_ns() // 1_000_000)
        if followed.replica.log.owes_sync:
            pause_ms = max(pause_ms, REOPEN_INTERVAL_MS)  # its log ran out of room before that was synced
        followed.timer = self._delay(followed, pause_ms) if pause_ms else 0
        if pause_ms:
            return
        followed.step(FollowerEvent.TIME)
        self._enroll(followed)

    def do_work(self, now_ms: int, until_ns: int) -> int:
        """Apply what came, ask what is next; returns the work done, 0 where there is nothing to do but wait."""
        done = 0
        if self._answer:
            done = self._apply_some(now_ms, until_ns)
            if self._answer:
                return done
        if not self._connection.may_be_asked():
            return done
        if self._truncating and self._ask_epochs():
            return done + 1
        if self._resetting:
            self._resetting = dict.fromkeys(followed for followed in self._resetting if followed.is_current)
            return done + self._ends.ask(list(self._resetting))
        return done + self._ask_records()

    def close(self) -> None:
        for followed in list(self._partitions):
            self.remove(followed)
        self.disconnect()

    # Requests

    # Fetch

    def _ask_records(self) -> int:
        session, options = self._session, self._options
        versions = options.versions
        if self._touched:
            touched = list(self._touched)
            self._touched.clear()
            for followed in touched:
                if followed.is_out:  # with the directory of one before it, just now
                    continue
                wish = followed.wish(versions.truncates_on_fetch)
                if isinstance(wish, FollowerEvent):
                    self._settle(followed, wish)
                else:
                    session.want(followed, wish)
        if not session:
            return 0
        version, request = build_request(session, options, self.broker_epoch)
        if self._buffer is None:
            size = min(options.response_bytes_max + _FRAME_BYTES, FETCH_BUFFER_BYTES_MAX)
            self._buffer = memoryview(bytearray(size))
        if not self._connection.ask(ApiKey.FETCH, version, request, self._take_records, read_answer, into=self._buffer):
            session.reset()
            self._connection.pause(FETCH_PAUSE_FIRST_MS)
            return 0
        return 1

    def _take_records(self, answer: FetchAnswer | None, outcome: Outcome) -> None:
        self._connection.settle()
        session = self._session
        if answer is None:
            session.reset()
            if outcome is Outcome.ANSWERED:
                self._connection.pause(FETCH_PAUSE_FIRST_MS)
            return
        reason = session.answered(answer)
        if reason:
            _log.info("fetch session restarts leader=%d reason=%s", self.leader, reason)
            self._connection.pause(answer.throttle_ms)
            return
        self._connection.note_success()
        find = session.find
        for part in answer.parts:
            followed = find(part.topic, part.topic_id, part.index)
            if followed is not None and followed.asked is not None:
                self._answer.append((followed, part))
        self._begin_partition()

    def _begin_partition(self) -> None:
        """The first of those that are to be applied has its log where it was asked for, or gets nothing."""
        self._place = 0
        while self._answer:
            followed = self._answer[0][0]
            asked, proof = followed.asked, followed.proof
            if asked is not None:
                is_proof = proof is not None and asked.fetch_offset == followed.proof_offset
                self._expected = followed.proof_end if is_proof else asked.fetch_offset
                return
            self._answer.popleft()

    def _apply_some(self, now_ms: int, until_ns: int) -> int:
        """Continue with the answer until the time is over; returns the work done."""
        done = 0
        monotonic_ns = self._clock.monotonic_ns
        while self._answer:
            followed, part = self._answer[0]
            if self._apply(followed, part, now_ms):
                self._answer.popleft()
                self._begin_partition()
            done += 1
            if monotonic_ns() >= until_ns:
                break
        return done

    def _apply(self, followed: Followed, part: FetchedPart, now_ms: int) -> bool:
        """One slice of a partition's part; returns whether that was the last."""
        if followed not in self._partitions or followed.state is not FollowerState.FETCHING:
            return True
        asked, replica = followed.asked, followed.replica
        if (
            asked is None
            or asked.leader_epoch != followed.leader_epoch
            or not followed.is_current
            or replica.log.log_end_offset != self._expected
        ):
            self.touch(followed)
            return True
        if part.error_code:
            if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and followed.is_doubting:
                self._settle(followed, followed.refuse_doubt())
            else:
                self._refuse(followed, part.error_code)
            return True
        is_parted = part.diverging_epoch >= 0 and self._options.versions.truncates_on_fetch
        if is_parted and followed.pass_over_proof():
            self.touch(followed)
            return True
        if followed.proof is not None and not is_parted:
            is_said = self._options.versions.truncates_on_fetch
            event = followed.prove(part.records, part.high_watermark, self._on_cut, is_epoch_said=is_said)
            if event is not None:
                self._settle(followed, event)
            else:
                self.touch(followed)
            return True  # a proof is all that it gives: the next fetch begins at our end, and says our latest epoch
        if is_parted:
            parted, is_another = followed.part(part.diverging_epoch, part.diverging_end, self._on_cut)
            is_stuck = parted in _CUTS and not is_another
            self._settle(followed, FollowerEvent.REFUSED if is_stuck else parted)
            return True
        records = part.records
        rest = records[self._place :]
        size = FETCHED_SLICE_BYTES
        while True:
            taken, event = followed.apply(rest[:size], part.high_watermark, part.log_start_offset, now_ms, self._on_cut)
            if taken or event is not None or size >= len(rest):
                break
            size *= 8
        if event is not None:
            self._settle(followed, event)
            return True
        followed.failures = followed.last_error = 0
        self._place += taken
        self._expected = replica.log.log_end_offset
        self.touch(followed)
        if taken and size < len(rest):
            return False
        if len(records):
            if not self._place:
                _log.error("fetch returned no complete batch partition=%s bytes=%d", replica.partition, len(records))
                self._settle(followed, FollowerEvent.REFUSED)
            self._session.put_last(followed)
            if self._place and replica.log.log_end_offset < part.high_watermark:
                self._hold_back(followed, len(records))
        return True

    def _hold_back(self, followed: Followed, size: int) -> None:
        """A throttled follower that is not in sync waits for what it took."""
        throttle, partition = self._throttle, followed.replica.partition
        if not throttle.holds(partition):
            return
        now_ms = self._clock.monotonic_ns() // 1_000_000
        throttle.took(size, now_ms)
        pause_ms = throttle.pause_ms(partition, now_ms)
        if pause_ms and followed.state is FollowerState.FETCHING:
            self._session.drop(followed)
            self._touched.pop(followed, None)
            followed.step(FollowerEvent.REFUSED)
            followed.timer = self._delay(followed, pause_ms)

    def _refuse(self, followed: Followed, error: int) -> None:
        """The leader answered an error for a partition."""
        if error == ErrorCode.OFFSET_OUT_OF_RANGE and followed.state is FollowerState.FETCHING:
            replica = followed.replica
            _log.info(
                "fetch offset is out of range partition=%s offset=%d end_offset=%d leader=%d leader_epoch=%d",
                replica.partition, -1 if followed.asked is None else followed.asked.fetch_offset, replica.log.log_end_offset,
                self.leader, followed.leader_epoch,
            )  # fmt: skip
            self._settle(followed, FollowerEvent.OUT_OF_RANGE)
            return
        if error != followed.last_error:
            followed.last_error = error
            place = f"partition={followed.replica.partition} leader={self.leader} leader_epoch={followed.leader_epoch}"
            leader_errors.say(error, place)
        self._settle(followed, leader_errors.event_of(error))

    # OffsetForLeaderEpoch

    def _ask_epochs(self) -> int:
        """Cut those without epochs; ask where the others' latest ones ended. Returns whether something was asked."""
        asked: list[Followed] = []
        is_asked = not self._options.versions.truncates_on_fetch
        for followed in list(self._truncating):
            if not followed.is_current:
                del self._truncating[followed]
            elif is_asked and followed.asked_epoch >= 0:
                asked.append(followed)
            else:
                self._settle(followed, followed.cut_to_high_watermark(self._on_cut))
        if not asked:
            return 0
        versions = self._options.versions
        request = epochs_request(self._options.node_id, asked)
        on_reply = partial(self._take_epochs, asked)
        if not self._connection.ask(
            ApiKey.OFFSET_FOR_LEADER_EPOCH, versions.offset_for_leader_epoch, request, on_reply
        ):
            self._connection.pause(FETCH_PAUSE_FIRST_MS)
        return 1

    def _take_epochs(
        self, asked: list[Followed], answer: messages.OffsetForLeaderEpochResponse | None, outcome: Outcome
    ) -> None:
        self._connection.settle()
        if answer is None:
            if outcome is Outcome.ANSWERED:
                self._connection.pause(FETCH_PAUSE_FIRST_MS)
            return
        self._connection.note_success()
        left = dict.fromkeys(asked)
        for followed, error, epoch, end_offset in epoch_answers(answer, asked):
            del left[followed]
            if followed not in self._truncating or not followed.is_current:
                continue
            if error:
                self._refuse(followed, error)
                continue
            event, is_another = followed.part(epoch, end_offset, self._on_cut)
            is_stuck = event is FollowerEvent.CUT_FURTHER and not is_another
            self._settle(followed, FollowerEvent.REFUSED if is_stuck else event)
        for followed in left:
            if followed in self._truncating:
                self._settle(followed, FollowerEvent.REFUSED)

    # ListOffsets

    def _reset(self, followed: Followed, earliest: tuple[int, int] | None, latest: tuple[int, int] | None) -> None:
        """The leader said where its log begins and ends: (error, offset) each; None: it left it out."""
        if followed not in self._resetting or not followed.is_current:
            return
        if earliest is None or latest is None:
            self._settle(followed, FollowerEvent.REFUSED)
        elif error := latest[0] or earliest[0]:
            self._refuse(followed, error)
        else:
            self._settle(followed, followed.reset(earliest[1], latest[1], self._on_cut))

    # States

    def _doubt(self) -> None:
        """The connection is another one, or none: the leader may have restarted in the same epoch with less, and have other records there
        now. What was proven by the last one is compared again.
        """
        for followed in self._partitions:
            followed.doubt()
            self.touch(followed)

    def _settle(self, followed: Followed, event: FollowerEvent) -> None:
        """It happened to a partition: into its next state, and where those of that state are kept."""
        self._truncating.pop(followed, None)
        self._resetting.pop(followed, None)
        followed.step(event)
        if event is FollowerEvent.REFUSED:
            self._session.drop(followed)
            self._touched.pop(followed, None)
            followed.timer = self._delay(followed, followed.next_pause_ms(self._options.backoff_ms))
        elif event is FollowerEvent.GIVEN_UP:
            self._session.drop(followed)
            self._touched.pop(followed, None)
            # a fenced one has its own line, as after each change of leaders
            if followed.last_error != ErrorCode.FENCED_LEADER_EPOCH:
                _log.warning(
                    "replication stopped until the next role change partition=%s leader=%d leader_epoch=%d",
                    followed.replica.partition, self.leader, followed.leader_epoch,
                )  # fmt: skip
        else:
            self._enroll(followed)

    def _enroll(self, followed: Followed) -> None:
        """Where those of its state are kept."""
        if followed.state is FollowerState.TRUNCATING:
            self._truncating[followed] = None
        elif followed.state is FollowerState.RESETTING:
            self._session.drop(followed)
            self._resetting[followed] = None
        elif followed.state is FollowerState.FETCHING:
            self._touched[followed] = None


_CUTS: Final = (FollowerEvent.CUT, FollowerEvent.CUT_FURTHER)
