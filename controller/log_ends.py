"""Where the logs of other brokers end, leaders or followers: asked by ListOffsets, as a replica that debugs.

Runs in: the controller process of a node that holds replicas (decision 013). By the replica id -2 a broker answers for what it does not
lead, with its log's end. Ours tells the leader epoch of the last record in it, and says so by the time -2, or below that, which has the
high watermark as well; Apache's tells the partition's, which is none of the log's (EPOCH_UNKNOWN). One request in flight to each broker,
LOG_ENDS_PER_REQUEST_MAX partitions each; whoever does not answer is not known. A log that is out of service there says so (OUT_OF_SERVICE).

Source: Kafka `ListOffsetsRequest.DEBUGGING_REPLICA_ID`, `ReplicaManager.fetchOffset`, `UnifiedLog.fetchOffsetByTimestamp`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from headrace.controller.agent.hold_decision import EPOCH_UNKNOWN, OUT_OF_SERVICE, LogEnd
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.errors import BadFrame, ErrorCode
from headrace.limits import LOG_ENDS_PER_REQUEST_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peers import Peers
from headrace.runtime.tasks import Future, Tasks

DEBUGGING_REPLICA = -2
LATEST = -1
ANSWER_MS = 5_000
LOG_EPOCH_MS = -2  # in the place of a time, or less: the epoch is that of the log's last record; with a high watermark, so much and 1 less

Place = tuple[str, int]  # topic and partition

_log = logging.getLogger(__name__)


class LogEnds:
    """Those of one node. A connection lasts for one round of questions.

    version   of ListOffsets
    """

    def __init__(self, known: KnownCluster, peers: Peers, tasks: Tasks, version: int) -> None:
        self._known = known
        self._peers = peers
        self._tasks = tasks
        self._version = version

    async def ask(self, wanted: Mapping[int, Collection[Place]]) -> dict[int, dict[Place, LogEnd]]:
        """What brokers say of the partitions that each is asked for; what nobody said is left out."""
        found: dict[int, dict[Place, LogEnd]] = {}
        brokers = iter(wanted)

        async def ask_next() -> None:
            for broker in brokers:
                found[broker] = await self._ask_broker(broker, list(wanted[broker]))

        await self._tasks.share(len(wanted), ask_next)
        return found

    async def _ask_broker(self, broker: int, places: list[Place]) -> dict[Place, LogEnd]:
        found: dict[Place, LogEnd] = {}
        target = self._known.brokers.get(broker)
        peer = None
        if target is not None:
            options = PeerOptions(client_id=str(self._known.node_id), requests_max=1)
            peer = self._peers.open(target.host, target.port, options)
        if peer is None:
            return found
        try:
            for first in range(0, len(places), LOG_ENDS_PER_REQUEST_MAX):
                answered: Future[bytes | None] = Future()

                def hear(outcome: Outcome, body: memoryview, answered: Future[bytes | None] = answered) -> None:
                    if not answered.is_done:
                        answered.complete(bytes(body) if outcome is Outcome.ANSWERED else None)

                request = _request(places[first : first + LOG_ENDS_PER_REQUEST_MAX])
                if not peer.ask(ApiKey.LIST_OFFSETS, self._version, request, hear, ANSWER_MS):
                    break
                body = await answered
                if body is None:
                    break
                found.update(self._ends_in(body, broker))
        finally:
            self._peers.close(peer)
        return found

    def _ends_in(self, body: bytes, broker: int) -> dict[Place, LogEnd]:
        try:
            response = decode_response(ApiKey.LIST_OFFSETS, self._version, body)
        except BadFrame as failure:
            _log.warning("response rejected api=ListOffsets broker=%d reason=%s", broker, failure)
            return {}
        return {
            (topic.name, row.partition_index): _end_in(row)
            for topic in response.topics
            for row in topic.partitions
            if (not row.error_code and row.offset >= 0) or row.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        }


def _end_in(row: messages.ListOffsetsResponse.ListOffsetsPartitionResponse) -> LogEnd:
    if row.error_code:
        return OUT_OF_SERVICE
    if row.timestamp > LOG_EPOCH_MS:
        return LogEnd(EPOCH_UNKNOWN, row.offset)
    return LogEnd(row.leader_epoch, row.offset, LOG_EPOCH_MS - 1 - row.timestamp)


def _request(places: Collection[Place]) -> messages.ListOffsetsRequest:
    kind = messages.ListOffsetsRequest
    by_topic: dict[str, list[messages.ListOffsetsRequest.ListOffsetsPartition]] = {}
    for topic, index in places:
        by_topic.setdefault(topic, []).append(kind.ListOffsetsPartition(partition_index=index, timestamp=LATEST))
    topics = [kind.ListOffsetsTopic(name, rows) for name, rows in by_topic.items()]
    return kind(replica_id=DEBUGGING_REPLICA, topics=topics)
