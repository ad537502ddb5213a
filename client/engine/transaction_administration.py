"""Transactions, as procedures: listings from every broker, an id from its coordinator, open ones from the leaders (KIP-664).

Who knows what:

    coordinator   which producer an id has, its state, the partitions that its transaction has written to
    leader        which producers have a transaction open in a partition, and from which offset on
    neither       the other's: a transaction that is open at a leader, and that no coordinator has, is hanging

A coordinator that can't be asked may know of it. So a listing says which of them are silent: without a leader, or with one that could
not read its log. A broker lists nothing of these, and no error. So each is asked for an id of its own that does not exist. The listing
is made again where coordinators moved meanwhile.

Source: Kafka `KafkaAdminClient`, `AbortTransactionHandler`, `FenceProducersHandler`; KIP-994 for durations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, NamedTuple

from headrace.client.engine.controller_requests import TRIES
from headrace.client.engine.coordinator import KEY_TYPE_TRANSACTION, Coordinator
from headrace.client.engine.engine import Engine
from headrace.client.engine.group_administration import COORDINATOR_TRIES
from headrace.client.engine.offsets import Question, ask_leaders, grouped
from headrace.client.engine.tasks import Ask, Pause, Procedure, retry_pause_s
from headrace.client.failures import error_of, is_retriable
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import (
    NO_EPOCH,
    NO_LEADER,
    NO_PRODUCER_ID,
    TRANSACTIONS_TOPIC,
    TopicPartition,
    coordinator_partition,
)
from headrace.limits import PARTITIONS_ASKED_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

VERSION_OF_DURATIONS: Final = 1  # of ListTransactions, Kafka 3.8
ANY_DURATION: Final = -1


class TransactionListing(NamedTuple):
    """A transactional id as ListTransactions returns it.

    coordinator   the broker that returned it
    """

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


class Listing(NamedTuple):
    """What the coordinators know.

    silent   partitions of __transaction_state that nobody answers for: the ids in these are missing
    """

    transactions: tuple[TransactionListing, ...]
    silent: tuple[int, ...]


class TransactionDescription(NamedTuple):
    """A transactional id as its coordinator describes it.

    start_ms     when the open transaction began; -1: none is open
    partitions   of the open transaction, or those that still lack its marker
    """

    transactional_id: str
    coordinator: int
    producer_id: int
    epoch: int
    state: str
    timeout_ms: int
    start_ms: int
    partitions: tuple[TopicPartition, ...]


class ProducerState(NamedTuple):
    """A producer as the leader of a partition describes it.

    first_offset   of its open transaction; -1: none
    """

    producer_id: int
    epoch: int
    coordinator_epoch: int
    last_timestamp_ms: int
    first_offset: int


class TransactionAdministration:
    """What an admin asks of one cluster about transactions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list_transactions(
        self, states: Iterable[str] = (), producer_ids: Iterable[int] = (), duration_ms: int = ANY_DURATION
    ) -> Procedure[Listing]:
        """Transactional ids of all brokers, by name; asked for again while a broker is loading some.

        states         only those in one of these; none: all of them
        producer_ids   only those of one of these; none: all of them
        duration_ms    only transactions that are open for longer
        raises         KafkaError (UNSUPPORTED_VERSION before Kafka 3.0; with a duration, before 3.8), ConnectionFailed
        """
        request = messages.ListTransactionsRequest(list(states), list(producer_ids), duration_ms)
        lowest = 0 if duration_ms < 0 else VERSION_OF_DURATIONS
        for tries in range(1, TRIES + 1):
            try:
                before = yield from self._coordinators()
                found = yield from self._listed((lowest, VERSION_OF_DURATIONS), request)
                silent = yield from self._silent([leader for leader, _epoch in before])
                if (yield from self._coordinators()) == before:
                    return Listing(tuple(sorted(found)), silent)
                failure: HeadraceError = KafkaError(ErrorCode.NOT_COORDINATOR, "coordinators move")
            except HeadraceError as failed:
                if not is_retriable(failed):
                    raise
                failure = failed
            if tries == TRIES:
                raise failure
            yield Pause(retry_pause_s(tries))
        raise AssertionError("unreachable")

    def _listed(
        self, versions: tuple[int, int], request: messages.ListTransactionsRequest
    ) -> Procedure[list[TransactionListing]]:
        found = []
        for node in sorted(self._engine.metadata.brokers):
            answer = yield Ask(node, ApiKey.LIST_TRANSACTIONS, versions, request)
            if answer.error_code:
                raise error_of(answer.error_code, f"transactions of broker {node}")
            for row in answer.transaction_states:
                found.append(TransactionListing(row.transactional_id, node, row.producer_id, row.transaction_state))
        return found

    def _coordinators(self) -> Procedure[list[tuple[int, int]]]:
        """(leader, leader epoch) of each partition of __transaction_state; none: there has been no transaction."""
        metadata = self._engine.metadata
        metadata.want([TRANSACTIONS_TOPIC])
        yield metadata.refresh()
        state = metadata.topics.get(TRANSACTIONS_TOPIC)
        if state is None or not state.partitions:
            failure = None if state is None else state.failure
            if failure is not None and failure.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise failure
            metadata.unwant([TRANSACTIONS_TOPIC])
            return []
        return [
            (one.leader if one.leader in metadata.brokers else NO_LEADER, one.leader_epoch) for one in state.partitions
        ]

    def _silent(self, leaders: list[int]) -> Procedure[tuple[int, ...]]:
        """Which of these partitions, by their leaders, do not answer for their ids. raises KafkaError, while they load or move"""
        found = [index for index, leader in enumerate(leaders) if leader == NO_LEADER]
        probes = _probes(len(leaders))
        for node in sorted(set(leaders) - {NO_LEADER}):
            asked = {probes[index]: index for index, leader in enumerate(leaders) if leader == node}
            request = messages.DescribeTransactionsRequest(list(asked))
            answer = yield Ask(node, ApiKey.DESCRIBE_TRANSACTIONS, (0, 0), request)
            for row in answer.transaction_states:
                if row.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE:
                    found.append(asked[row.transactional_id])
                elif row.error_code not in (ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND):
                    raise error_of(row.error_code, f"{TRANSACTIONS_TOPIC}-{asked[row.transactional_id]}")
        return tuple(sorted(found))

    def describe_transaction(self, transactional_id: str) -> Procedure[TransactionDescription]:
        """raises   KafkaError TRANSACTIONAL_ID_NOT_FOUND and others; ConnectionFailed"""
        coordinator = self._coordinator(transactional_id)
        request = messages.DescribeTransactionsRequest([transactional_id])
        answer = yield from coordinator.ask(
            ApiKey.DESCRIBE_TRANSACTIONS, (0, 0), request, lambda body: int(body.transaction_states[0].error_code)
        )
        row = answer.transaction_states[0]
        if row.error_code:
            raise error_of(row.error_code, f"transactional id {transactional_id}")
        names = [TopicPartition(one.topic, index) for one in row.topics for index in one.partitions]
        node = coordinator.node
        return TransactionDescription(
            transactional_id, NO_LEADER if node is None else node, row.producer_id, row.producer_epoch, row.transaction_state,
            row.transaction_timeout_ms, row.transaction_start_time_ms, tuple(sorted(names)),
        )  # fmt: skip

    def describe_producers(
        self, names: Collection[TopicPartition]
    ) -> Procedure[dict[TopicPartition, tuple[ProducerState, ...]]]:
        """Producers that the leaders of partitions remember. raises KafkaError with the partition's name, ConnectionFailed"""
        found: dict[TopicPartition, tuple[ProducerState, ...]] = {}
        wanted = sorted(names)
        question = Question(ApiKey.DESCRIBE_PRODUCERS, (0, 0), "producers", _producers_request, _take_producers)
        for start in range(0, len(wanted), PARTITIONS_ASKED_MAX):
            some = wanted[start : start + PARTITIONS_ASKED_MAX]
            found.update((yield from ask_leaders(self._engine.tasks, self._engine.metadata, some, question)))
        return found

    def write_abort_marker(self, name: TopicPartition, producer: ProducerState) -> Procedure[None]:
        """End a producer's transaction in one partition, behind the back of any coordinator. Leaders take it from brokers' hosts.

        raises   KafkaError (CLUSTER_AUTHORIZATION_FAILED from elsewhere), ConnectionFailed
        """
        kind = messages.WriteTxnMarkersRequest

        def request(names: list[TopicPartition]) -> Callable[[int], Any]:
            rows = [kind.WritableTxnMarkerTopic(topic, indexes) for topic, indexes in grouped(names).items()]
            marker = kind.WritableTxnMarker(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                transaction_result=False,
                topics=rows,
                coordinator_epoch=max(0, producer.coordinator_epoch),
            )
            return lambda _version: kind([marker])

        question = Question(ApiKey.WRITE_TXN_MARKERS, (0, 1), "abort marker", request, _take_markers)
        yield from ask_leaders(self._engine.tasks, self._engine.metadata, [name], question)

    def fence(self, transactional_id: str, timeout_ms: int) -> Procedure[tuple[int, int]]:
        """Abort an id's open transaction in all of its partitions, and fence its producer; returns the next (producer id, epoch).

        timeout_ms   of the id's transactions from then on; its next producer has its own
        raises       KafkaError (CONCURRENT_TRANSACTIONS, while markers can't be written), ConnectionFailed
        """
        coordinator = self._coordinator(transactional_id)
        request = messages.InitProducerIdRequest(transactional_id, timeout_ms, NO_PRODUCER_ID, NO_EPOCH)
        for tries in range(1, TRIES + 1):
            answer = yield from coordinator.ask(
                ApiKey.INIT_PRODUCER_ID, (0, 4), request, lambda body: int(body.error_code)
            )
            if not answer.error_code:
                return answer.producer_id, answer.producer_epoch
            failure = error_of(answer.error_code, f"transactional id {transactional_id}")
            if failure.code is not ErrorCode.CONCURRENT_TRANSACTIONS or tries == TRIES:
                raise failure
            yield Pause(retry_pause_s(tries))
        raise AssertionError("unreachable")

    def _coordinator(self, transactional_id: str) -> Coordinator:
        return Coordinator(self._engine.requests, transactional_id, COORDINATOR_TRIES, KEY_TYPE_TRANSACTION)


def _probes(count: int) -> list[str]:
    """An id of each partition of __transaction_state."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < count:
        found.setdefault(coordinator_partition(f"headrace-probe-{number}", count), f"headrace-probe-{number}")
        number += 1
    return [found[index] for index in range(count)]


def _producers_request(names: list[TopicPartition]) -> Callable[[int], Any]:
    kind = messages.DescribeProducersRequest
    rows = [kind.TopicRequest(topic, indexes) for topic, indexes in grouped(names).items()]
    return lambda _version: kind(rows)


def _take_producers(_version: int, answer: Any, found: dict[TopicPartition, Any]) -> list[tuple[TopicPartition, int]]:
    """What a leader of too many producers refuses is left out: it is asked for again."""
    refused = []
    for topic in answer.topics:
        for row in topic.partitions:
            name = TopicPartition(topic.name, row.partition_index)
            if not row.error_code:
                found[name] = tuple([_producer(one) for one in row.active_producers])
            elif row.error_code != ErrorCode.INVALID_REQUEST:
                refused.append((name, row.error_code))
    return refused


def _producer(row: Any) -> ProducerState:
    return ProducerState(
        row.producer_id,
        row.producer_epoch,
        row.coordinator_epoch,
        row.last_timestamp,
        row.current_txn_start_offset,
    )


def _take_markers(_version: int, answer: Any, found: dict[TopicPartition, Any]) -> list[tuple[TopicPartition, int]]:
    refused = []
    for marker in answer.markers:
        for topic in marker.topics:
            for row in topic.partitions:
                name = TopicPartition(topic.name, row.partition_index)
                if row.error_code:
                    refused.append((name, row.error_code))
                else:
                    found[name] = None
    return refused
