"""Questions of data leaders to transaction coordinators: may this producer append to this partition (KIP-890)?

Runs in: a partition worker, in its cycle. Without an answer the first batch of a transaction is not appended: a batch that comes
late, after its transaction was aborted, would open one that nothing ends, and hold the last stable offset for ever.

    ask -> by destination: this worker | another worker of the node | another node (AddPartitionsToTxn v4 and v5, verify only)
        -> one request in flight a destination, with all that waits for it
        -> on_done(error), once: now or in a later cycle

    NONE                       the partition is in the open transaction of this producer and epoch
    TRANSACTION_ABORTABLE      it is not; INVALID_TXN_STATE to clients that do not know that
    INVALID_PRODUCER_EPOCH     a later producer has the transactional id
    NOT_ENOUGH_REPLICAS        no coordinator has answered in time: to be sent again (KAFKA-15459, for clients of old)
    others                     as the coordinator says

The answer counts only while the producer's `Verification` is there: after a marker or an append in between it is asked again
(KAFKA-14884). A broker that serves no AddPartitionsToTxn v4 is not asked: the batch is taken, as it would be there.

Bounds: VERIFICATIONS_WAITING_MAX of a worker, VERIFICATIONS_PER_REQUEST_MAX.
Source: Kafka `AddPartitionsToTxnManager`, `ReplicaManager.maybeStartTransactionVerificationForPartitions`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from headrace.errors import BadFrame, ErrorCode, HeadraceError
from headrace.ids import TRANSACTIONS_TOPIC, coordinator_partition
from headrace.limits import VERIFICATION_ANSWER_MS, VERIFICATIONS_PER_REQUEST_MAX, VERIFICATIONS_WAITING_MAX
from headrace.log.state.producer_state import Verification
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.runtime.mailbox import Mailbox
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peers import Peers
from headrace.shm.cluster_view import ClusterView
from headrace.shm.messages import ReplyStatus
from headrace.shm.seat import Seat
from headrace.workers.coordinators.transaction.events import Verified
from headrace.workers.coordinators.transaction.transaction import TopicIndex
from headrace.workers.partition.coordination.leader_ways import LeaderWays, Node, Target, Worker
from headrace.workers.partition.replicas.replica import Replica

RETRY_MS: Final = 20
VERSION: Final = 5
OLDEST_VERSION: Final = 4  # the first one that can ask
CLIENT_ID: Final = "headrace-verifier"

_E: Final = ErrorCode
_log: Final = logging.getLogger(__name__)

_AGAIN: Final = frozenset(
    {
        _E.NOT_COORDINATOR,
        _E.COORDINATOR_NOT_AVAILABLE,
        _E.COORDINATOR_LOAD_IN_PROGRESS,
        _E.CONCURRENT_TRANSACTIONS,
        _E.REQUEST_TIMED_OUT,
        _E.NETWORK_EXCEPTION,
    }
)
_FOR_PRODUCERS: Final = {
    _E.INVALID_TXN_STATE: _E.TRANSACTION_ABORTABLE,  # of a coordinator that speaks v4
    _E.PRODUCER_FENCED: _E.INVALID_PRODUCER_EPOCH,
}

OnDone = Callable[[ErrorCode], None]
# `Verifier.ask`
Ask = Callable[[Replica, str, int, int, int, OnDone], None]
# Asks a coordinator of this worker: (transactional id, producer, partitions, what takes a `Verified` or its refusal)
AskHere = Callable[[str, tuple[int, int], frozenset[TopicIndex], Callable[[Any], None]], None]


class Question:
    """About one producer in one partition.

    deadline_ms   no answer by then is a refusal; 0: the question was not asked yet, and has `wait_ms` from then on
    """

    __slots__ = (
        "deadline_ms", "epoch", "on_done", "place", "producer_id", "replica", "transactional_id", "verification", "wait_ms",
    )  # fmt: skip

    def __init__(
        self,
        replica: Replica,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        wait_ms: int,
        on_done: OnDone,
    ) -> None:
        self.replica = replica
        self.place: TopicIndex = (replica.partition.topic, replica.partition.partition)
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.epoch = epoch
        self.wait_ms = wait_ms
        self.deadline_ms = 0
        self.on_done = on_done
        self.verification: Verification | None = None


class Verifier:
    """One worker's."""

    def __init__(self, seat: Seat, mailbox: Mailbox, peers: Peers | None, ask_here: AskHere) -> None:
        self._mailbox = mailbox
        self._ask_here = ask_here
        self._ways = LeaderWays(seat, peers, PeerOptions(client_id=CLIENT_ID, asks_versions=True))
        self._count = 0  # of questions that are not decided
        self._due: list[Question] = []
        self._later: list[Question] = []  # to be asked at `_retry_ms`
        self._now_ms = self._retry_ms = 0
        self._in_flight: set[Target] = set()

    @property
    def is_waiting(self) -> bool:
        """Whether something is to be asked again soon."""
        return bool(self._later)

    def follow(self, view: ClusterView) -> None:
        """Coordinators may be others."""
        self._ways.follow(view)

    def ask(
        self,
        replica: Replica,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        wait_ms: int,
        on_done: OnDone,
    ) -> None:
        """Have a producer verified. on_done: called once, perhaps from within; NONE: what it sent may be appended next"""
        if self._count >= VERIFICATIONS_WAITING_MAX:
            on_done(_E.NOT_ENOUGH_REPLICAS)
            return
        self._count += 1
        self._due.append(Question(replica, transactional_id, producer_id, epoch, wait_ms, on_done))

    def do_work(self, monotonic_ms: int) -> int:
        """Ask what is due; returns the work done."""
        self._now_ms = monotonic_ms
        if self._later and monotonic_ms >= self._retry_ms:
            self._due += self._later
            self._later = []
        if not self._due:
            return 0
        return self._ask_due()

    def _ask_due(self) -> int:
        due, self._due = self._due, []
        kept: list[Question] = []
        by_target: dict[Target, dict[str, list[Question]]] = {}
        done = 0
        for question in due:
            question.deadline_ms = question.deadline_ms or self._now_ms + question.wait_ms
            count = self._ways.partition_count(TRANSACTIONS_TOPIC)
            index = coordinator_partition(question.transactional_id, count) if count else 0
            target, _partition = self._ways.leader_of(TRANSACTIONS_TOPIC, index)
            if target is None:
                self._put_off(question)
                continue
            by_id = by_target.setdefault(target, {})
            same = by_id.get(question.transactional_id)
            is_another = same is not None and _producer(same[0]) != _producer(question)  # an answer names the id alone
            if target in self._in_flight or is_another or len(by_id) >= VERIFICATIONS_PER_REQUEST_MAX:
                kept.append(question)
                continue
            done += 1
            question.verification = question.replica.log.producers.begin_verification(
                question.producer_id, question.epoch
            )
            by_id.setdefault(question.transactional_id, []).append(question)
        for target, asked in by_target.items():
            if not asked:
                continue
            if target == self._ways.here:
                for questions in asked.values():
                    self._ask_own(questions)
            elif isinstance(target, Worker):
                self._ask_worker(target, asked)
            else:
                self._ask_node(target, asked)
        self._due += kept
        return done

    # Ways

    def _ask_own(self, questions: list[Question]) -> None:
        """Of a coordinator of this worker; it answers from within, or when its partition is loaded."""

        def take(answer: Any) -> None:
            for question in questions:
                if isinstance(answer, Verified):
                    error = _E.NONE if question.place in answer.partitions else _E.TRANSACTION_ABORTABLE
                else:
                    error = answer.error
                self._settle(question, error)

        first = questions[0]
        places = frozenset(question.place for question in questions)
        try:
            self._ask_here(first.transactional_id, _producer(first), places, take)
        except HeadraceError:  # it is logged, and the coordinator loads anew
            for question in questions:
                self._settle(question, _E.COORDINATOR_LOAD_IN_PROGRESS)

    def _ask_worker(self, target: Worker, asked: dict[str, list[Question]]) -> None:
        def on_reply(status: ReplyStatus, body: memoryview) -> None:
            self._in_flight.discard(target)
            self._take(asked, VERSION, body if status is ReplyStatus.ANSWERED else None)

        body = encode_request(ApiKey.ADD_PARTITIONS_TO_TXN, VERSION, _request(asked))
        if self._mailbox.ask(target.process_id, ApiKey.ADD_PARTITIONS_TO_TXN, body, on_reply, version=VERSION):
            self._in_flight.add(target)
        else:
            self._take(asked, VERSION, None)

    def _ask_node(self, target: Node, asked: dict[str, list[Question]]) -> None:
        peer = self._ways.peer(target)

        def on_reply(outcome: Outcome, body: memoryview) -> None:
            self._in_flight.discard(target)
            if outcome is Outcome.UNSUPPORTED:
                for questions in asked.values():
                    for question in questions:
                        self._settle(question, _E.NONE)
                return
            version = None if peer is None else peer.version_of(ApiKey.ADD_PARTITIONS_TO_TXN, OLDEST_VERSION, VERSION)
            is_answered = outcome is Outcome.ANSWERED and version is not None
            self._take(asked, version or VERSION, body if is_answered else None)

        if peer is not None and peer.ask(
            ApiKey.ADD_PARTITIONS_TO_TXN, VERSION, _request(asked), on_reply, VERIFICATION_ANSWER_MS, version_min=OLDEST_VERSION
        ):  # fmt: skip
            self._in_flight.add(target)
        else:
            self._take(asked, VERSION, None)

    # Answers

    def _take(self, asked: dict[str, list[Question]], version: int, body: memoryview | None) -> None:
        """What one request was answered; no body: nothing."""
        codes: dict[tuple[str, TopicIndex], int] = {}
        missing = int(_E.REQUEST_TIMED_OUT)
        try:
            response = None if body is None else decode_response(ApiKey.ADD_PARTITIONS_TO_TXN, version, body)
        except BadFrame as failure:
            _log.error("answer to a verification refused reason=%s", failure)
            response = None
        if response is not None:
            missing = response.error_code or missing
            for row in response.results_by_transaction:
                for topic in row.topic_results:
                    for one in topic.results_by_partition:
                        codes[row.transactional_id, (topic.name, one.partition_index)] = one.partition_error_code
        for transactional_id, questions in asked.items():
            for question in questions:
                self._settle(question, _error_of(codes.get((transactional_id, question.place), missing)))

    def _settle(self, question: Question, error: ErrorCode) -> None:
        producers = question.replica.log.producers
        is_current = producers.verifications.get(question.producer_id) is question.verification
        if error in _AGAIN or (error is _E.NONE and not is_current):
            self._put_off(question)
            return
        if error is _E.NONE and question.verification is not None:
            question.verification.is_valid = True
        self._finish(question, _FOR_PRODUCERS.get(error, error))

    def _put_off(self, question: Question) -> None:
        if self._now_ms >= question.deadline_ms:
            self._finish(question, _E.NOT_ENOUGH_REPLICAS)
            return
        if not self._later:
            self._retry_ms = self._now_ms + RETRY_MS
        self._later.append(question)

    def _finish(self, question: Question, error: ErrorCode) -> None:
        self._count -= 1
        verifications = question.replica.log.producers.verifications
        if error is not _E.NONE and verifications.get(question.producer_id) is question.verification:
            verifications.pop(question.producer_id, None)
        question.on_done(error)


def _producer(question: Question) -> tuple[int, int]:
    return question.producer_id, question.epoch


def _request(asked: dict[str, list[Question]]) -> messages.AddPartitionsToTxnRequest:
    rows = []
    for transactional_id, questions in asked.items():
        by_topic: dict[str, list[int]] = {}
        for topic, index in {question.place for question in questions}:
            by_topic.setdefault(topic, []).append(index)
        row = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        rows.append(
            messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
                transactional_id=transactional_id,
                producer_id=questions[0].producer_id,
                producer_epoch=questions[0].epoch,
                verify_only=True,
                topics=[row(name=topic, partitions=indexes) for topic, indexes in by_topic.items()],
            )
        )
    return messages.AddPartitionsToTxnRequest(transactions=rows)


def _error_of(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return _E.UNKNOWN_SERVER_ERROR
