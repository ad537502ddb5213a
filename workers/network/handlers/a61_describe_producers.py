"""DescribeProducers (key 61), v0: each partition's owner tells the producers that its log remembers.

The request is split by owner: an owner gets slots and keys, and answers in the order of these. The answers are put
together when the last one came. An owner that dies meanwhile leaves its partitions with NOT_LEADER_OR_FOLLOWER.

Source: Kafka `KafkaApis.handleDescribeProducersRequest`, `UnifiedLog.activeProducers`; KIP-664.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.limits import PRODUCERS_DESCRIBED_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, encode_response
from headrace.shm.messages import DESCRIBED_LOG
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.routes import Route
from headrace.workers.network.topic_names import is_valid_topic_name

TOO_MANY: Final = f"the response already has {PRODUCERS_DESCRIBED_MAX} producers: request fewer partitions at a time"

_Topic = messages.DescribeProducersResponse.TopicResponse
_Partition = messages.DescribeProducersResponse.PartitionResponse
_Place = tuple[str, int]


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Refuse what is not led here; ask the owners for the rest. A partition is answered once however often it is named."""
    request = decode_request(ApiKey.DESCRIBE_PRODUCERS, exchange.api_version, body)
    description = _Description(exchange)
    by_owner: dict[int, list[Route]] = {}
    for place in dict.fromkeys((topic.name, index) for topic in request.topics for index in topic.partition_indexes):
        name, index = place
        route = context.routes.partition(name, index)
        if not is_valid_topic_name(name):
            description.settle(place, ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid")
        elif route is None:
            description.settle(
                place, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
            )
        elif route.slot < 0 or route.leader != context.node_id:
            description.settle(place, ErrorCode.NOT_LEADER_OR_FOLLOWER, None)
        else:
            description.settle(place, ErrorCode.NOT_LEADER_OR_FOLLOWER, None)  # keeps its place in the answer
            by_owner.setdefault(route.owner, []).append(route)
    description.owed = len(by_owner)
    for owner, routes in by_owner.items():
        description.ask(context, owner, routes)
    description.answer_if_done()


class _Description:
    """One request in flight to the owners."""

    def __init__(self, exchange: Exchange) -> None:
        self.owed = 0
        self._exchange = exchange
        self._results: dict[_Place, _Partition] = {}
        self._producers = 0

    def settle(self, place: _Place, error: ErrorCode, text: str | None) -> None:
        self._results[place] = _Partition(
            partition_index=place[1], error_code=int(error), error_message=text, active_producers=[]
        )

    def ask(self, context: Context, owner: int, routes: list[Route]) -> None:
        """Send one owner its part."""

        def on_result(response: memoryview | None) -> None:
            if response is not None:
                decoded = decode_response(ApiKey.DESCRIBE_PRODUCERS, 0, response)
                for route, result in zip(routes, decoded.topics[0].partitions, strict=True):
                    self._take((route.topic, route.index), result)
            self.owed -= 1
            self.answer_if_done()

        body = b"".join(DESCRIBED_LOG.pack(route.slot, route.key) for route in routes)
        context.forwarder.ask(self._exchange, ApiKey.DESCRIBE_PRODUCERS, 0, body, on_result, owner)

    def _take(self, place: _Place, result: _Partition) -> None:
        count = len(result.active_producers)
        if self._producers and self._producers + count > PRODUCERS_DESCRIBED_MAX:
            self.settle(place, ErrorCode.INVALID_REQUEST, TOO_MANY)
            return
        self._producers += count
        self._results[place] = result._replace(partition_index=place[1])

    def answer_if_done(self) -> None:
        if self.owed:
            return
        topics: dict[str, list[_Partition]] = {}
        for (name, _index), result in self._results.items():
            topics.setdefault(name, []).append(result)
        response = messages.DescribeProducersResponse(
            topics=[_Topic(name=name, partitions=results) for name, results in topics.items()]
        )
        exchange = self._exchange
        exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_PRODUCERS, exchange.api_version, response))
