"""AlterReplicaLogDirs (key 34), v0 to v2: each replica's owner moves it to another log directory of this node.

The request is split by owner, the answers are put together when the last one came; the moves then continue by themselves,
and DescribeLogDirs shows them.

Source: Kafka `KafkaApis.handleAlterReplicaLogDirsRequest`; KIP-113.
"""

from __future__ import annotations

import os
from typing import Final

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, encode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

_KEY: Final = ApiKey.ALTER_REPLICA_LOG_DIRS
_Request = messages.AlterReplicaLogDirsRequest
_TopicResult = messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_PartitionResult = messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult

Wanted = dict[str, dict[str, list[int]]]  # path -> topic -> partitions


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Refuse what is not hosted here; ask the owners for the rest. The last directory named for a replica counts."""
    request = decode_request(_KEY, exchange.api_version, body)
    alteration = _Alteration(exchange)
    by_owner: dict[int, Wanted] = {}
    known = {name for path in context.settings["log.dirs"] for name in (os.path.normpath(path), os.path.realpath(path))}
    places = {
        (topic.name, index): wanted.path
        for wanted in request.dirs
        for topic in wanted.topics
        for index in topic.partitions
    }
    paths = {path: os.path.normpath(path) for path in set(places.values())}  # by their text: links may be many
    for (topic, index), path in places.items():
        if paths[path] not in known:
            alteration.settle(topic, index, ErrorCode.LOG_DIR_NOT_FOUND)
            continue
        route = context.routes.partition(topic, index)
        if route is None or route.slot < 0:
            alteration.settle(topic, index, ErrorCode.REPLICA_NOT_AVAILABLE)
            continue
        of_owner = by_owner.setdefault(route.owner, {})
        of_owner.setdefault(paths[path], {}).setdefault(topic, []).append(index)
    alteration.owed = len(by_owner)
    for owner, dirs in by_owner.items():
        alteration.ask(context, owner, dirs)
    alteration.answer_if_done()


class _Alteration:
    """One request in flight to the owners."""

    def __init__(self, exchange: Exchange) -> None:
        self.owed = 0
        self._exchange = exchange
        self._results: dict[str, list[_PartitionResult]] = {}

    def settle(self, topic: str, index: int, error: ErrorCode) -> None:
        result = _PartitionResult(partition_index=index, error_code=int(error))
        self._results.setdefault(topic, []).append(result)

    def ask(self, context: Context, owner: int, paths: Wanted) -> None:
        """Send one owner its part."""
        exchange = self._exchange
        version = exchange.api_version
        dirs = [
            _Request.AlterReplicaLogDir(
                path=path,
                topics=[
                    _Request.AlterReplicaLogDirTopic(name=name, partitions=indexes) for name, indexes in topics.items()
                ],
            )
            for path, topics in paths.items()
        ]

        def on_result(response: memoryview | None) -> None:
            if response is None:  # the owner died; asking again is safe
                for topics in paths.values():
                    for name, indexes in topics.items():
                        for index in indexes:
                            self.settle(name, index, ErrorCode.REPLICA_NOT_AVAILABLE)
            else:
                for topic in decode_response(_KEY, version, response).results:
                    self._results.setdefault(topic.topic_name, []).extend(topic.partitions)
            self.owed -= 1
            self.answer_if_done()

        context.forwarder.ask(
            exchange, _KEY, version, encode_request(_KEY, version, _Request(dirs=dirs)), on_result, owner
        )

    def answer_if_done(self) -> None:
        if self.owed:
            return
        topics = [_TopicResult(topic_name=name, partitions=results) for name, results in self._results.items()]
        response = messages.AlterReplicaLogDirsResponse(results=topics)
        exchange = self._exchange
        exchange.answer_bytes(encode_response(_KEY, exchange.api_version, response))
