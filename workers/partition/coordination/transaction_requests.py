"""Requests about transactions, as the partition worker that owns their `__transaction_state` partition takes them.

Runs in: a partition worker. The body of InitProducerId, AddPartitionsToTxn up to v3, AddOffsetsToTxn and EndTxn begins with the
order of the connection (ORDER in `shm/messages.py`). An answer of the coordinator is plain; here it becomes a response of the
version that was asked for. Old clients know no PRODUCER_FENCED (KAFKA-9911). A request that came over a connection of before
gets no answer: its connection closes, and its client comes back over a new one.

Source: Kafka `KafkaApis`, the transactional requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from headrace.errors import BadFrame, ErrorCode, KafkaError
from headrace.ids import ANY_ORDER, OFFSETS_TOPIC, coordinator_partition
from headrace.protocol import messages
from headrace.protocol.added_partitions import VERSION_OF_BROKERS, topic_results
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.runtime.mailbox import Handler, Reply
from headrace.shm.messages import ORDER, ReplyStatus
from headrace.workers.coordinators.transaction.events import (
    AddPartitions,
    EndTransaction,
    Identity,
    InitProducer,
    Outcome,
    Verified,
    VerifyPartitions,
)
from headrace.workers.coordinators.transaction.transaction import TopicIndex
from headrace.workers.coordinators.transaction.transaction_coordinator import TransactionCoordinator
from headrace.workers.partition.coordination.coordinator_host import CoordinatorHost
from headrace.workers.partition.coordination.known_topics import KnownTopics

VERSION_OF_ABORTABLE: Final = 5  # of AddPartitionsToTxn: TRANSACTION_ABORTABLE is known
_FENCED_SINCE: Final = {
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.ADD_PARTITIONS_TO_TXN: 2,
    ApiKey.ADD_OFFSETS_TO_TXN: 2,
    ApiKey.END_TXN: 2,
}

_E: Final = ErrorCode
_Add = messages.AddPartitionsToTxnResponse


class TransactionFailed(KafkaError):
    """The request's event raised in its coordinator. Whether it was done is not known: its connection is closed."""


class _Ticket(NamedTuple):
    """Where an answer of the coordinator goes.

    build   the response to an answer
    """

    reply: Reply
    api_key: int
    version: int
    build: Callable[[Any], Any]

    def give(self, answer: Any) -> None:
        if isinstance(answer, Outcome) and answer.closes_connection:
            self.reply.refuse(ReplyStatus.STALE)
            return
        self.reply(encode_response(self.api_key, self.version, self.build(answer)))


class _PartTicket(NamedTuple):
    """One transaction of an AddPartitionsToTxn from a broker."""

    take: Callable[[Any], None]

    def give(self, answer: Any) -> None:
        self.take(answer)


class TransactionRequests:
    """Handlers over the coordinators of one worker.

    topics   as this worker's coordinators know them: a topic whose deletion they have followed is added to no transaction
    """

    def __init__(self, host: CoordinatorHost[TransactionCoordinator], topics: KnownTopics) -> None:
        self._host = host
        self._topics = topics

    def handlers(self) -> dict[int, Handler]:
        """By api key."""
        return {
            ApiKey.INIT_PRODUCER_ID: self._init,
            ApiKey.ADD_PARTITIONS_TO_TXN: self._add,
            ApiKey.ADD_OFFSETS_TO_TXN: self._add_offsets,
            ApiKey.END_TXN: self._end,
            ApiKey.DESCRIBE_TRANSACTIONS: self._describe,
            ApiKey.LIST_TRANSACTIONS: self._list,
        }

    def verify(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: frozenset[TopicIndex],
        take: Callable[[Any], None],
    ) -> None:
        """Ask a coordinator of this worker; `take` gets a Verified or an Outcome. raises TransactionFailed"""
        self._step(VerifyPartitions(transactional_id, producer, partitions, _PartTicket(take)))

    def _step(self, event: Any) -> None:
        """Hand a request to its coordinator; its answer comes now or later. raises TransactionFailed"""
        hosted = self._host.hosted_of(event.transactional_id)
        if hosted is None:
            event.ticket.give(Outcome(_E.NOT_COORDINATOR))
        elif not self._host.step(hosted, event):
            what = f"{type(event).__name__} failed, its partition is loaded again"
            raise TransactionFailed(_E.UNKNOWN_SERVER_ERROR, what)

    def _init(self, version: int, body: memoryview, reply: Reply) -> None:
        order, rest = _ordered(body)
        request = decode_request(ApiKey.INIT_PRODUCER_ID, version, rest)

        def build(answer: Any) -> Any:
            if isinstance(answer, Identity):
                return messages.InitProducerIdResponse(producer_id=answer.producer_id, producer_epoch=answer.epoch)
            code = _client_code(answer.error, ApiKey.INIT_PRODUCER_ID, version)
            return messages.InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)

        self._step(
            InitProducer(
                request.transactional_id or "",
                request.transaction_timeout_ms,
                (request.producer_id, request.producer_epoch),
                order,
                _Ticket(reply, ApiKey.INIT_PRODUCER_ID, version, build),
            )
        )

    def _add(self, version: int, body: memoryview, reply: Reply) -> None:
        if version >= VERSION_OF_BROKERS:
            self._add_of_broker(version, body, reply)
            return
        order, rest = _ordered(body)
        request = decode_request(ApiKey.ADD_PARTITIONS_TO_TXN, version, rest)
        topics = request.v3_and_below_topics

        def build(answer: Outcome) -> Any:
            code = _client_code(answer.error, ApiKey.ADD_PARTITIONS_TO_TXN, version)

            def code_of(_place: TopicIndex) -> int:
                return code

            return _Add(results_by_topic_v3_and_below=topic_results(topics, code_of))

        self._add_known(
            AddPartitions(
                request.v3_and_below_transactional_id,
                (request.v3_and_below_producer_id, request.v3_and_below_producer_epoch),
                _places(topics),
                order,
                _Ticket(reply, ApiKey.ADD_PARTITIONS_TO_TXN, version, build),
            )
        )

    def _add_of_broker(self, version: int, body: memoryview, reply: Reply) -> None:
        """Several transactions of this worker, to be verified or added to; answered when each is."""
        request = decode_request(ApiKey.ADD_PARTITIONS_TO_TXN, version, body)
        results: list[Any] = [None] * len(request.transactions)
        owed = len(results)
        missing = int(_E.TRANSACTION_ABORTABLE if version >= VERSION_OF_ABORTABLE else _E.INVALID_TXN_STATE)

        def settle(number: int, answer: Any) -> None:
            nonlocal owed
            row = request.transactions[number]

            def code_of(place: TopicIndex) -> int:
                if isinstance(answer, Verified):
                    return 0 if place in answer.partitions else missing
                return int(answer.error)

            results[number] = _Add.AddPartitionsToTxnResult(
                transactional_id=row.transactional_id,
                topic_results=topic_results(row.topics, code_of),
            )
            owed -= 1
            if not owed:
                reply(encode_response(ApiKey.ADD_PARTITIONS_TO_TXN, version, _Add(results_by_transaction=results)))

        if not owed:
            reply(encode_response(ApiKey.ADD_PARTITIONS_TO_TXN, version, _Add()))
        for number, row in enumerate(request.transactions):

            def take(answer: Any, number: int = number) -> None:
                settle(number, answer)

            producer, places, ticket = (row.producer_id, row.producer_epoch), _places(row.topics), _PartTicket(take)
            if row.verify_only:
                self._step(VerifyPartitions(row.transactional_id, producer, places, ticket))
            else:
                self._add_known(AddPartitions(row.transactional_id, producer, places, ANY_ORDER, ticket))

    def _add_known(self, event: AddPartitions) -> None:
        """The network worker that took the request may have an older view."""
        if all(self._topics.has(*place) for place in event.partitions):
            self._step(event)
        else:
            event.ticket.give(Outcome(_E.UNKNOWN_TOPIC_OR_PARTITION))

    def _add_offsets(self, version: int, body: memoryview, reply: Reply) -> None:
        """The group's partition of `__consumer_offsets` becomes one of the transaction's."""
        order, rest = _ordered(body)
        request = decode_request(ApiKey.ADD_OFFSETS_TO_TXN, version, rest)

        def build(answer: Outcome) -> Any:
            return messages.AddOffsetsToTxnResponse(
                error_code=_client_code(answer.error, ApiKey.ADD_OFFSETS_TO_TXN, version)
            )

        ticket = _Ticket(reply, ApiKey.ADD_OFFSETS_TO_TXN, version, build)
        count = self._topics.partition_count(OFFSETS_TOPIC)
        if not count:
            ticket.give(Outcome(_E.COORDINATOR_NOT_AVAILABLE))
            return
        place = (OFFSETS_TOPIC, coordinator_partition(request.group_id, count))
        producer = (request.producer_id, request.producer_epoch)
        self._add_known(AddPartitions(request.transactional_id, producer, frozenset((place,)), order, ticket))

    def _end(self, version: int, body: memoryview, reply: Reply) -> None:
        order, rest = _ordered(body)
        request = decode_request(ApiKey.END_TXN, version, rest)

        def build(answer: Outcome) -> Any:
            return messages.EndTxnResponse(error_code=_client_code(answer.error, ApiKey.END_TXN, version))

        self._step(
            EndTransaction(
                request.transactional_id,
                (request.producer_id, request.producer_epoch),
                request.committed,
                order,
                _Ticket(reply, ApiKey.END_TXN, version, build),
            )
        )

    # Questions

    def _describe(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.DESCRIBE_TRANSACTIONS, version, body)
        rows = []
        for transactional_id in request.transactional_ids:
            hosted = self._host.hosted_of(transactional_id)
            if hosted is None:
                row = messages.DescribeTransactionsResponse.TransactionState(
                    error_code=int(_E.NOT_COORDINATOR), transactional_id=transactional_id, topics=[]
                )
            else:
                row = hosted.coordinator.describe(transactional_id)
            rows.append(row)
        response = messages.DescribeTransactionsResponse(transaction_states=rows)
        reply(encode_response(ApiKey.DESCRIBE_TRANSACTIONS, version, response))

    def _list(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.LIST_TRANSACTIONS, version, body)
        states, producer_ids = set(request.state_filters), set(request.producer_id_filters)
        worst, rows = _E.NONE, []
        for hosted in self._host.by_partition.values():
            error, found = hosted.coordinator.rows(
                states, producer_ids, request.duration_filter, self._host.clock.date_ms
            )
            worst = error or worst
            rows += found
        response = messages.ListTransactionsResponse(
            error_code=int(worst), unknown_state_filters=[], transaction_states=rows
        )
        reply(encode_response(ApiKey.LIST_TRANSACTIONS, version, response))


def _ordered(body: memoryview) -> tuple[int, memoryview]:
    """(order of the connection, the client's request). raises BadFrame"""
    if len(body) < ORDER.size:
        raise BadFrame(f"a transactional request of {len(body)} bytes without its order")
    return ORDER.unpack_from(body)[0], body[ORDER.size :]


def _places(topics: Any) -> frozenset[TopicIndex]:
    return frozenset((topic.name, index) for topic in topics for index in topic.partitions)


def _client_code(error: ErrorCode, api_key: ApiKey, version: int) -> int:
    """What a client of this version gets."""
    if error is _E.PRODUCER_FENCED and version < _FENCED_SINCE[api_key]:
        return int(_E.INVALID_PRODUCER_EPOCH)
    return int(error)
