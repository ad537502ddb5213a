"""Which partition worker answers for a group, and the way there.

Runs in: a network worker. A group belongs to a partition of `__consumer_offsets`, that to a partition worker of
this node, whether the node leads it or not: the worker alone knows that it does, and says NOT_COORDINATOR
where it does not. The first request that needs the topic has it made.

Source: Kafka `GroupCoordinator.partitionFor`, `AutoTopicCreationManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from headrace.errors import BadFrame
from headrace.ids import OFFSETS_TOPIC, coordinator_partition, owner_of
from headrace.limits import GROUPS_NAMED_MANY, GROUPS_NAMED_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.protocol.varint import read_uvarint
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.topic_creations import CREATE_TIMEOUT_MS

ID_BYTES_MAX: Final = 2**15 - 1  # a string's; it is hashed here, before the request is decoded


def partition_of_group(context: Context, group_id: str) -> int:
    """Index in `__consumer_offsets`."""
    topic = context.view.topics.get(OFFSETS_TOPIC)
    count = len(topic.partitions) if topic is not None else context.settings["offsets.topic.num.partitions"]
    return coordinator_partition(group_id, count)


def owner_of_group(context: Context, group_id: str) -> int:
    """Process id of the partition worker that answers for a group."""
    wiring = context.seat.wiring
    partition = partition_of_group(context, group_id)
    return wiring.network_count + owner_of(OFFSETS_TOPIC, partition, wiring.partition_count)


def check_named(context: Context, groups: Sequence[str]) -> None:
    """Bound the groups that one request names; many of them end this turn, so that others have theirs.

    raises   BadFrame
    """
    if len(groups) > GROUPS_NAMED_MAX:
        raise BadFrame(f"{len(groups)} groups in one request, the limit is {GROUPS_NAMED_MAX}")
    if len(groups) > GROUPS_NAMED_MANY:
        context.heavy_requests += 1


def with_offsets_topic(context: Context, exchange: Exchange, then: Callable[[], None]) -> None:
    """Call `then` once `__consumer_offsets` is there, or could not be made."""
    with_topic(context, exchange, OFFSETS_TOPIC, then)


def with_topic(context: Context, exchange: Exchange, name: str, then: Callable[[], None]) -> None:
    """The same of another internal topic."""
    if name in context.view.topics:
        then()
        return
    topic = messages.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
    request = messages.CreateTopicsRequest(topics=[topic], timeout_ms=CREATE_TIMEOUT_MS)

    def made(_response: memoryview | None) -> None:
        context.follow_view()
        then()

    context.creations.ask(context.view, exchange, request, made)


def forward_to_group(context: Context, exchange: Exchange, body: memoryview | bytes, group_id: str) -> None:
    """Forward a request to the owner of its group; its answer is the response."""
    if OFFSETS_TOPIC in context.view.topics:
        context.forwarder.forward(exchange, body, owner_of_group(context, group_id))
        return
    kept = bytes(body)  # the connection's buffer moves on meanwhile
    with_offsets_topic(
        context, exchange, lambda: context.forwarder.forward(exchange, kept, owner_of_group(context, group_id))
    )


def first_group_id(exchange: Exchange, body: memoryview) -> str:
    """The group id of a request that begins with it, without decoding the rest. raises BadFrame"""
    return first_id(exchange, body, "group id")


def first_id(exchange: Exchange, body: memoryview, what: str) -> str:
    """The string that a request begins with, without decoding the rest.

    what     it is, for the fault that is told
    raises   BadFrame
    """
    try:
        if exchange.is_flexible:
            length, start = read_uvarint(body, 0)
            length -= 1
        else:
            length, start = body[0] << 8 | body[1], 2
        if not 0 <= length <= min(len(body) - start, ID_BYTES_MAX):
            raise ValueError(f"{length} bytes announced, {len(body) - start} remain, the limit is {ID_BYTES_MAX}")
        return str(body[start : start + length], "utf-8")
    except (IndexError, ValueError) as failure:
        raise BadFrame(f"{what} of {ApiKey(exchange.api_key).name}: {failure}") from None


def ask_owners(
    context: Context,
    exchange: Exchange,
    requests: dict[int, Any],
    then: Callable[[list[Any]], None],
) -> None:
    """Ask several partition workers the same thing; `then` gets their responses, decoded, once all have come.

    requests   by process id. Where a worker dies meanwhile, the connection closes, and the client asks again.
    """
    key, version = exchange.api_key, exchange.api_version
    responses: dict[int, Any] = {}

    def take(owner: int, response: memoryview | None) -> None:
        if response is None:
            exchange.close_connection("a partition worker did not respond to a request about groups")
            return
        try:
            responses[owner] = decode_response(key, version, bytes(response))
        except BadFrame as failure:  # more rows than a message may have
            exchange.close_connection(f"the combined response about groups is too large: {failure}")
            return
        if len(responses) == len(requests):
            then([responses[each] for each in requests])

    for owner, request in requests.items():
        body = encode_request(key, version, request)

        def settle(response: memoryview | None, owner: int = owner) -> None:
            take(owner, response)

        context.forwarder.ask(exchange, key, version, body, settle, owner)
