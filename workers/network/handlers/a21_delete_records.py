"""DeleteRecords (key 21), v0 to v2: each partition's owner moves its log start offset.

The request is split by owner; the answers are put together when the last one came. An owner that dies meanwhile leaves
its partitions with NOT_LEADER_OR_FOLLOWER: asking again is safe.

Source: Kafka `KafkaApis.handleDeleteRecordsRequest`; KIP-107.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, encode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

NO_LOW_WATERMARK: Final = -1

_Request = messages.DeleteRecordsRequest
_Wanted = messages.DeleteRecordsRequest.DeleteRecordsPartition
_PartitionResult = messages.DeleteRecordsResponse.DeleteRecordsPartitionResult
_TopicResult = messages.DeleteRecordsResponse.DeleteRecordsTopicResult


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Refuse what is not led here; ask the owners for the rest. The last mention of a partition counts."""
    request = decode_request(ApiKey.DELETE_RECORDS, exchange.api_version, body)
    deletion = _Deletion(exchange)
    by_owner: dict[int, dict[str, list[_Wanted]]] = {}
    places = {(topic.name, row.partition_index): row for topic in request.topics for row in topic.partitions}
    for place, wanted in places.items():
        view = context.view.topics.get(place[0])
        route = context.routes.partition(*place)
        if route is None:
            deletion.settle(place, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif view is not None and view.internal:
            deletion.settle(place, ErrorCode.INVALID_TOPIC_EXCEPTION)
        elif route.slot < 0 or route.leader != context.node_id:
            deletion.settle(place, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        else:
            by_owner.setdefault(route.owner, {}).setdefault(place[0], []).append(wanted)
    deletion.owed = len(by_owner)
    for owner, topics in by_owner.items():
        deletion.ask(context, owner, topics, request.timeout_ms)
    deletion.answer_if_done()


class _Deletion:
    """One request in flight to the owners."""

    def __init__(self, exchange: Exchange) -> None:
        self.owed = 0
        self._exchange = exchange
        self._results: dict[tuple[str, int], _PartitionResult] = {}

    def settle(self, place: tuple[str, int], error: ErrorCode) -> None:
        self._results[place] = _PartitionResult(
            partition_index=place[1], low_watermark=NO_LOW_WATERMARK, error_code=int(error)
        )

    def ask(self, context: Context, owner: int, topics: dict[str, list[_Wanted]], timeout_ms: int) -> None:
        """Send one owner its part."""
        exchange = self._exchange
        part = _Request(
            topics=[_Request.DeleteRecordsTopic(name=name, partitions=wanted) for name, wanted in topics.items()],
            timeout_ms=timeout_ms,
        )

        def on_result(response: memoryview | None) -> None:
            if response is None:
                for name, wanted in topics.items():
                    for each in wanted:
                        self.settle((name, each.partition_index), ErrorCode.NOT_LEADER_OR_FOLLOWER)
            else:
                decoded = decode_response(ApiKey.DELETE_RECORDS, exchange.api_version, response)
                for topic in decoded.topics:
                    for one in topic.partitions:
                        self._results[topic.name, one.partition_index] = one
            self.owed -= 1
            self.answer_if_done()

        body = encode_request(ApiKey.DELETE_RECORDS, exchange.api_version, part)
        context.forwarder.ask(exchange, ApiKey.DELETE_RECORDS, exchange.api_version, body, on_result, owner)

    def answer_if_done(self) -> None:
        if self.owed:
            return
        topics: dict[str, list[_PartitionResult]] = {}
        for (name, _index), result in self._results.items():
            topics.setdefault(name, []).append(result)
        response = messages.DeleteRecordsResponse(
            topics=[_TopicResult(name=name, partitions=results) for name, results in topics.items()]
        )
        exchange = self._exchange
        exchange.answer_bytes(encode_response(ApiKey.DELETE_RECORDS, exchange.api_version, response))
