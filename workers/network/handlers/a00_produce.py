"""Produce (key 0), v0 to v11; v10 and v11 are v9 on the wire, but for the hints at other leaders, which are left out.

The shape of each batch is checked here only as far as the partition worker's ring must be protected;
checksums, offsets and sequences are its business. The records of uncompressed ones are compared with their header, the frames of
compressed ones with what clients write. Where
the topic asks for more, and for v0 to v2, which carry the old message formats, the batch goes through the topic's `record_policy.py` first.

Source: Kafka `KafkaApis.handleProduceRequest`, `ProduceRequest.validateRecords`.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode, KafkaError
from headrace.ids import INTERNAL_TOPICS
from headrace.limits import PLACED_BYTES_MIN, TEMPLATES_MAX, TOPIC_NAME_LENGTH_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_response
from headrace.protocol.codec_frames import has_usual_frame
from headrace.protocol.message_set import ENTRY_BYTES_MIN
from headrace.protocol.record_batch import (
    ATTRIBUTES_LOW_POSITION,
    CODEC_MASK,
    HEADER_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    TRANSACTIONAL_BIT,
)
from headrace.settings import topic_values
from headrace.shm.counters import PRODUCE_REQUESTS
from headrace.shm.messages import (
    AFTER_REFUSAL,
    PRODUCE,
    PRODUCE_AT,
    PRODUCE_HEADER,
    PRODUCE_PART,
    PRODUCE_PART_HEADER,
    PRODUCE_TRANSACTIONAL,
    TRANSACTIONAL_ID,
    pack_place,
    pack_produce,
)
from headrace.shm.partition_table import RowState
from headrace.workers.network.connections.connection import Connection
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.produce.opening_budget import OpeningBudget
from headrace.workers.network.produce.plain_admission import check_plain
from headrace.workers.network.produce.produce_ledger import PendingProduce, Result
from headrace.workers.network.produce.produce_request import ProduceRequest, read_produce
from headrace.workers.network.produce.produce_template import MARKS, ProduceTemplate
from headrace.workers.network.produce.record_policy import Buffer, RejectedRecords
from headrace.workers.network.produce.refused_batches import follows_missing, note_missing
from headrace.workers.network.routes import Route

CODEC_ZSTD: Final = 4
VERSION_OF_MAGIC_2: Final = 3
VERSION_OF_ZSTD: Final = 7
PRODUCE_HEADER_BYTES: Final = 32

ADMIN_CLIENT_ID: Final = "__admin_client"  # Kafka's tools may write internal topics under this name

assert PRODUCE_HEADER.size == PRODUCE_HEADER_BYTES

_TopicResponse = messages.ProduceResponse.TopicProduceResponse
_PartitionResponse = messages.ProduceResponse.PartitionProduceResponse
_RecordError = messages.ProduceResponse.BatchIndexAndErrorMessage


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Split the request over the rings; the last result answers it."""
    version = exchange.api_version
    request = read_produce(version, body, exchange.connection.last_topic)
    context.seat.counters.add(PRODUCE_REQUESTS, 1)
    acks = request.acks
    connection = exchange.connection
    request_id = context.produce.next_id(connection.serial)
    count = len(request.rows)
    is_silent = acks == 0
    pending = PendingProduce(exchange, request.topics, count, _respond, context.is_control_current, is_silent=is_silent)
    if is_silent:
        exchange.answer_nothing()
    elif count == 0:
        _respond(pending)
    if count:
        context.produce.open(request_id, pending)
    try:
        _hand_on_all(context, connection, pending, request, request_id, version, body)
    except Exception:
        pending.settle_unsent(int(ErrorCode.UNKNOWN_SERVER_ERROR))  # what was sent has its result yet to come
        raise
    finally:
        if count and pending.remaining == 0:
            context.produce.close(request_id)


def _hand_on_all(
    context: Context,
    connection: Connection,
    pending: PendingProduce,
    request: ProduceRequest,
    request_id: int,
    version: int,
    body: memoryview,
) -> None:
    """Each row to its owner, or refused."""
    acks, timeout_ms = request.acks, max(0, request.timeout_ms)
    transactional_id = request.transactional_id
    named = b"" if transactional_id is None else TRANSACTIONAL_ID.pack(len(transactional_id)) + transactional_id
    header_bytes = PRODUCE_HEADER_BYTES + len(named)
    budget = None
    for index, row in enumerate(request.rows):
        records = row.records
        route = context.routes.partition(row.topic, row.index)
        error = _refusal(context, version, acks, records, route, transactional_id)
        batch: Buffer = b""
        begun = 0
        told = version
        if not error:
            assert route is not None
            assert records is not None
            batch = records
            if version < VERSION_OF_MAGIC_2 or route.policy is not None:
                budget = budget or OpeningBudget(len(body))
                error, batch = _apply_policy(context, pending, index, version, records, route, budget)
                if budget.is_heavy:  # one request may hold many batches, each within its bound
                    context.seat.beat(context.clock.monotonic_ns())
            elif records[MAGIC_POSITION] == MAGIC_V2:
                if not records[ATTRIBUTES_LOW_POSITION] & CODEC_MASK:
                    try:
                        check_plain(records)
                    except KafkaError as failure:
                        error = _keep_reason(pending, index, failure)
                elif not has_usual_frame(records):
                    budget = budget or OpeningBudget(len(body))
                    error, batch = _reopen(context, pending, index, records, route, budget)
            if connection.missing and not error and follows_missing(connection.missing, row.topic, row.index, batch):
                told = version | AFTER_REFUSAL
            if not error and acks != 0 and len(batch) >= PLACED_BYTES_MIN and batch is records:
                place = connection.place_of(len(body), row.position)
                if place >= 0:
                    header = context.produce.placed
                    pack_produce(header, 0, request_id, route.slot, route.key, index, timeout_ms, acks, told, 0)
                    pack_place(header, PRODUCE_HEADER_BYTES, place, len(batch))
                    _send_placed(context, pending, index, route, header, transactional_id)
                    continue
                connection.begin_placing()
            if not error and header_bytes + len(batch) > context.sender.message_bytes_max(route.owner):
                error, begun = _begin(context, connection, request_id, index, route, header_bytes, batch)
        if error:
            if records is not None and version >= VERSION_OF_MAGIC_2:
                note_missing(connection.missing, row.topic, row.index, error, records)
            pending.settle(index, (int(error), -1, -1, -1))
        else:
            assert route is not None
            pending.owners[index] = route.owner
            header = context.produce.header
            pack_produce(header, 0, request_id, route.slot, route.key, index, timeout_ms, acks, told, begun)
            payload = memoryview(batch)[begun:] if begun else batch
            if named:
                context.sender.send(connection, route.owner, PRODUCE_TRANSACTIONAL, bytes(header) + named, payload)
            else:
                context.sender.send(connection, route.owner, PRODUCE, header, payload)
    if budget is not None and budget.is_heavy:
        context.heavy_requests += 1


def _send_placed(
    context: Context,
    pending: PendingProduce,
    index: int,
    route: Route,
    header: memoryview,
    transactional_id: bytes | None,
) -> None:
    """Have a batch appended from where it was received."""
    connection = pending.exchange.connection
    assert connection.block is not None
    pending.place_in(connection.block)
    pending.owners[index] = route.owner
    context.sender.send(connection, route.owner, PRODUCE_AT, header, transactional_id)


def _begin(
    context: Context,
    connection: Connection,
    request_id: int,
    index: int,
    route: Route,
    header_bytes: int,
    records: Buffer,
) -> tuple[int, int]:
    """Send ahead what no message holds of a large batch.

    header_bytes   of the message with its end
    returns   (error or 0, how many bytes went); more than the topic takes is not copied only to be refused
    """
    values = topic_values(context.topic_defaults.settings, context.view.topics[route.topic].configs)
    if len(records) > values["max.message.bytes"]:
        return ErrorCode.MESSAGE_TOO_LARGE, 0
    view = memoryview(records)
    header = PRODUCE_PART_HEADER.pack(request_id, index)
    room = context.sender.message_bytes_max(route.owner) - header_bytes
    begun = 0
    while len(view) - begun > room:
        context.sender.send(connection, route.owner, PRODUCE_PART, header, view[begun : begun + room])
        begun += room
    return 0, begun


def _why_not_led(context: Context, route: Route) -> int:
    """A replica whose directory failed has no leader here any more, and says why, as Kafka's."""
    row = context.seat.partitions.read(route.slot)
    is_lost = row is not None and row.key == route.key and row.state == RowState.OFFLINE
    return ErrorCode.KAFKA_STORAGE_ERROR if is_lost else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _refusal(
    context: Context,
    version: int,
    acks: int,
    records: memoryview | None,
    route: Route | None,
    transactional_id: bytes | None,
) -> int:
    """Why a batch can't be handed on, 0 where it can."""
    if route is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if route.slot < 0:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if route.leader != context.node_id:
        return _why_not_led(context, route)
    if acks not in (-1, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    bytes_min = HEADER_BYTES if version >= VERSION_OF_MAGIC_2 else ENTRY_BYTES_MIN
    if records is None or len(records) < bytes_min:
        return ErrorCode.INVALID_RECORD
    if records[MAGIC_POSITION] == MAGIC_V2:
        attributes = records[ATTRIBUTES_LOW_POSITION]
        if attributes & CODEC_MASK == CODEC_ZSTD and version < VERSION_OF_ZSTD:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if attributes & TRANSACTIONAL_BIT and transactional_id is None:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return 0


def _apply_policy(
    context: Context,
    pending: PendingProduce,
    index: int,
    version: int,
    records: memoryview,
    route: Route,
    budget: OpeningBudget,
) -> tuple[int, Buffer]:
    """(error or 0, the batch as the topic's log shall have it). Internal topics are their coordinators', and the tools'."""
    if route.topic in INTERNAL_TOPICS and pending.exchange.connection.client_id != ADMIN_CLIENT_ID:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, b""
    try:
        if version < VERSION_OF_MAGIC_2:
            return 0, context.routes.policy(route.topic).convert(records, context.clock.now_ms(), budget)
        assert route.policy is not None
        return 0, route.policy.admit(records, context.clock.now_ms(), budget)
    except KafkaError as failure:
        return _keep_reason(pending, index, failure), b""


def _reopen(
    context: Context, pending: PendingProduce, index: int, records: memoryview, route: Route, budget: OpeningBudget
) -> tuple[int, Buffer]:
    """The same, of a compressed batch of which nothing is asked but that clients can read it."""
    try:
        reopened = context.routes.policy(route.topic).reopen(records, budget)
    except KafkaError as failure:
        return _keep_reason(pending, index, failure), b""
    if budget.is_heavy:
        context.seat.beat(context.clock.monotonic_ns())
    return 0, reopened


def _keep_reason(pending: PendingProduce, index: int, failure: KafkaError) -> int:
    """What the response will say beside the error, which is returned."""
    pending.keep_text(index, failure.message)
    if isinstance(failure, RejectedRecords):
        pending.keep_record_errors(index, failure.indexes, failure.reason)
    return failure.code


def _respond(pending: PendingProduce) -> None:
    """Answer with every partition's result, in the order of the request."""
    exchange = pending.exchange
    is_single = len(pending.results) == 1 and len(pending.topics) == 1 and pending.texts is None
    if is_single and len(pending.topics[0][0]) <= TOPIC_NAME_LENGTH_MAX:  # longer ones, of no topic, fill the memory
        name, indexes = pending.topics[0]
        error, base_offset, append_time_ms, log_start_offset = pending.results[0]  # type: ignore[misc]
        version = exchange.api_version
        template = exchange.connection.template
        if template is None or template.version != version or template.name != name:
            template = exchange.connection.template = _templates.get((version, name)) or _template(version, name)
        exchange.answer_frame(
            template.fill(exchange.correlation_id, indexes[0], error, base_offset, append_time_ms, log_start_offset)
        )
        return
    results = iter(pending.results)
    texts = pending.texts or {}
    record_errors = pending.record_errors or {}
    responses = []
    position = 0
    for name, indexes in pending.topics:
        partitions = []
        for index in indexes:
            result: Result = next(results)  # type: ignore[assignment]
            partitions.append(_partition_response(index, result, texts.get(position), record_errors.get(position)))
            position += 1
        responses.append(_TopicResponse(name=name, partition_responses=partitions))
    response = messages.ProduceResponse(responses=responses)
    exchange.answer_bytes(encode_response(ApiKey.PRODUCE, exchange.api_version, response))


def _partition_response(
    index: int, result: Result, text: str | None, record_error: tuple[list[int], str] | None = None
) -> _PartitionResponse:
    error, base_offset, append_time_ms, log_start_offset = result
    return _PartitionResponse(
        index=index,
        error_code=error,
        base_offset=base_offset,
        log_append_time_ms=append_time_ms,
        log_start_offset=log_start_offset,
        record_errors=[_RecordError(record, record_error[1]) for record in record_error[0]] if record_error else [],
        error_message=text,
    )


def _template(version: int, name: str) -> ProduceTemplate:
    """The response for one partition of a topic, encoded once."""
    if len(_templates) >= TEMPLATES_MAX:
        _templates.clear()
    one = _partition_response(*MARKS[:1], MARKS[1:], None)
    response = messages.ProduceResponse(responses=[_TopicResponse(name=name, partition_responses=[one])])
    body = encode_response(ApiKey.PRODUCE, version, response)
    template = _templates[version, name] = ProduceTemplate(version, name, body)
    return template


_templates: Final[dict[tuple[int, str], ProduceTemplate]] = {}
