"""WriteTxnMarkers (key 27), v0 to v1: ends of transactions, from the brokers that coordinate them.

Each marker goes to the owners of its partitions, which write it and answer once it is committed. A partition that is not led
here is NOT_LEADER_OR_FOLLOWER, one that does not exist UNKNOWN_TOPIC_OR_PARTITION: the coordinator asks again. Owners that die
meanwhile leave their partitions with NOT_LEADER_OR_FOLLOWER as well, since a marker that is written twice changes nothing.

Work: `partition/coordination/marker_writes.py`. Source: Kafka `KafkaApis.handleWriteTxnMarkersRequest`.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.shm.messages import MARKER, MARKER_RESULT, RequestKind
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

_Response = messages.WriteTxnMarkersResponse
_Row = tuple[int, str, int]  # (number of the marker, topic, partition)


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Split the request over the owners; the last answer answers it."""
    request = decode_request(ApiKey.WRITE_TXN_MARKERS, exchange.api_version, body)
    writes = _Writes(exchange, request)
    if not context.broker_requests.is_of_broker(exchange.connection, ApiKey.WRITE_TXN_MARKERS):
        writes.settle_all(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return
    by_owner: dict[int, list[tuple[_Row, bytes]]] = {}
    for number, marker in enumerate(request.markers):
        for topic in marker.topics:
            for index in topic.partition_indexes:
                route = context.routes.partition(topic.name, index)
                row = (number, topic.name, index)
                if route is None:
                    writes.errors[row] = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                elif route.slot < 0 or route.leader != context.node_id:
                    writes.errors[row] = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
                else:
                    packed = MARKER.pack(
                        route.slot, route.key, marker.producer_id, marker.coordinator_epoch, marker.producer_epoch,
                        not marker.transaction_result,
                    )  # fmt: skip
                    by_owner.setdefault(route.owner, []).append((row, packed))
    writes.owed = len(by_owner)
    for owner, rows in by_owner.items():
        writes.ask(context, owner, rows)
    writes.answer_if_done()


class _Writes:
    """One request in flight to the owners."""

    def __init__(self, exchange: Exchange, request: messages.WriteTxnMarkersRequest) -> None:
        self.owed = 0
        self.errors: dict[_Row, int] = {}
        self._exchange = exchange
        self._request = request

    def ask(self, context: Context, owner: int, rows: list[tuple[_Row, bytes]]) -> None:
        """Send one owner its part."""

        def on_result(response: memoryview | None) -> None:
            errors = [] if response is None else [row[0] for row in MARKER_RESULT.iter_unpack(response)]
            for place, (row, _packed) in enumerate(rows):
                is_answered = len(errors) == len(rows)
                self.errors[row] = errors[place] if is_answered else int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            self.owed -= 1
            self.answer_if_done()

        body = b"".join(packed for _row, packed in rows)
        context.forwarder.ask(self._exchange, RequestKind.WRITE_MARKERS, 0, body, on_result, owner)

    def settle_all(self, error: ErrorCode) -> None:
        """The same for each partition."""
        for number, marker in enumerate(self._request.markers):
            for topic in marker.topics:
                for index in topic.partition_indexes:
                    self.errors[number, topic.name, index] = int(error)
        self.answer_if_done()

    def answer_if_done(self) -> None:
        if self.owed:
            return
        row = _Response.WritableTxnMarkerPartitionResult
        markers = [
            _Response.WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    _Response.WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            row(partition_index=index, error_code=self.errors[number, topic.name, index])
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for number, marker in enumerate(self._request.markers)
        ]
        exchange = self._exchange
        response = _Response(markers=markers)
        exchange.answer_bytes(encode_response(ApiKey.WRITE_TXN_MARKERS, exchange.api_version, response))
