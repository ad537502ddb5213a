"""This node's way to the active controller, wherever that is: one connection, or a call of the handlers here.

Runs in: the controller process of every node. When another node is elected, or the connection breaks, what was asked is told so: done or
not, only the asker can tell what is right then. Each asker has one request on its way at a time.

Source: Kafka `NodeToControllerChannelManager`, `BrokerToControllerRequestThread`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.controller.agent.isr_changes import IsrChange, Outcome
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.own_line import OwnLine
from headrace.controller.zookeeper.znodes import PartitionState, Registration
from headrace.errors import BadFrame, ErrorCode, error_of
from headrace.limits import CONTROLLER_ANSWER_MS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.broker_versions import NEGOTIATED
from headrace.protocol.codec import decode_response
from headrace.protocol.messages import ZERO_UUID
from headrace.runtime import peer_request
from headrace.runtime.peer import Peer
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peers import Peers
from headrace.runtime.tasks import Future

VERSION_OF_IDS = 2

_log = logging.getLogger(__name__)

_Request = messages.AlterPartitionRequest


class Answer(NamedTuple):
    """What came of a request.

    error      NONE: there is an answer
    response   decoded
    """

    error: ErrorCode
    response: Any = None
    version: int = -1


class ControllerLine:
    """Of one node.

    own   the handlers of this process
    """

    def __init__(self, known: KnownCluster, peers: Peers, own: OwnLine, alter_partition: int) -> None:
        self._known = known
        self._peers = peers
        self._own = own
        self._alter_partition = alter_partition  # the highest version of AlterPartition
        self._peer: Peer | None = None
        self._holder: Registration | None = None  # whom it leads to

    def turn(self) -> None:
        """Once a cycle: another controller, another connection."""
        if self._peer is not None and self._target() != self._holder:
            self.close()

    def close(self) -> None:
        """What was asked is reported."""
        peer, self._peer, self._holder = self._peer, None, None
        if peer is not None:
            self._peers.close(peer)

    async def ask(self, api_key: int, version: int, message: Any, timeout_ms: int = CONTROLLER_ANSWER_MS_MAX) -> Answer:
        """What the active controller answers.

        version   the highest, where brokers negotiate it; else the one
        """
        future: Future[Answer] = Future()
        target = self._target()
        if target is None:
            return Answer(ErrorCode.NOT_CONTROLLER)
        if target.node_id == self._known.node_id:
            is_asked = self._own.ask(api_key, version, message, lambda body: _hear_own(future, api_key, version, body))
        else:
            is_asked = self._ask_peer(target, api_key, version, message, timeout_ms, future)
        return await future if is_asked else Answer(ErrorCode.NETWORK_EXCEPTION)

    async def alter(self, changes: Sequence[IsrChange]) -> Sequence[Outcome]:
        """`isr_changes.Alter`: by AlterPartition."""
        by_topic: dict[tuple[str, str], list[IsrChange]] = {}
        for change in changes:
            by_topic.setdefault((change.topic, change.topic_id), []).append(change)
        topics = [
            _Request.TopicData(name, bytes.fromhex(topic_id) or ZERO_UUID, list(map(_row, rows)))
            for (name, topic_id), rows in by_topic.items()
        ]
        request = _Request(self._known.node_id, self._known.broker_epoch, topics)
        version = self._alter_partition
        if not all(topic_id for _name, topic_id in by_topic):
            version = min(version, VERSION_OF_IDS - 1)
        answer = await self.ask(ApiKey.ALTER_PARTITION, version, request)
        error = answer.error or error_of(answer.response.error_code)
        if error:
            return [error] * len(changes)
        has_ids = answer.version >= VERSION_OF_IDS
        rows = {
            (topic.topic_id.hex() if has_ids else topic.topic_name, row.partition_index): row
            for topic in answer.response.topics
            for row in topic.partitions
        }
        return [
            _outcome(change, rows.get((change.topic_id if has_ids else change.topic, change.index)))
            for change in changes
        ]

    def _target(self) -> Registration | None:
        return self._known.brokers.get(self._known.controller_id)

    def _ask_peer(
        self, target: Registration, api_key: int, version: int, message: Any, timeout_ms: int, future: Future[Answer]
    ) -> bool:
        if self._peer is None or target != self._holder:
            self.close()
            options = PeerOptions(client_id=str(self._known.node_id), asks_versions=True)
            self._peer, self._holder = self._peers.open(target.host, target.port, options), target
        peer = self._peer
        if peer is None:
            return False
        version_min = 0 if api_key in NEGOTIATED else None

        def hear(outcome: peer_request.Outcome, body: memoryview) -> None:
            if outcome is not peer_request.Outcome.ANSWERED:
                future.complete(Answer(_ERRORS[outcome]))
                return
            spoken = version if version_min is None else peer.version_of(api_key, version_min, version)
            if spoken is None:  # the connection broke with the answer
                future.complete(Answer(ErrorCode.NETWORK_EXCEPTION))
                return
            future.complete(_answer(api_key, spoken, body))

        return peer.ask(api_key, version, message, hear, timeout_ms, version_min=version_min)


_ERRORS = {
    peer_request.Outcome.NOT_SENT: ErrorCode.BROKER_NOT_AVAILABLE,
    peer_request.Outcome.UNSUPPORTED: ErrorCode.UNSUPPORTED_VERSION,
    peer_request.Outcome.LOST: ErrorCode.NETWORK_EXCEPTION,
    peer_request.Outcome.TIMED_OUT: ErrorCode.REQUEST_TIMED_OUT,
}


def _hear_own(future: Future[Answer], api_key: int, version: int, body: bytes | None) -> None:
    future.complete(Answer(ErrorCode.NETWORK_EXCEPTION) if body is None else _answer(api_key, version, body))


def _answer(api_key: int, version: int, body: bytes | memoryview) -> Answer:
    """What the other side sent, if it is an answer."""
    try:
        response = decode_response(api_key, version, body)
    except BadFrame as failure:
        _log.warning("response of the active controller rejected api=%s reason=%s", ApiKey(api_key).api_name, failure)
        return Answer(ErrorCode.UNKNOWN_SERVER_ERROR)
    return Answer(ErrorCode.NONE, response, version)


def _row(change: IsrChange) -> Any:
    state = change.state
    return _Request.PartitionData(
        partition_index=change.index,
        leader_epoch=state.leader_epoch,
        new_isr=list(state.isr),
        new_isr_with_epochs=[_Request.BrokerState(*one) for one in zip(state.isr, change.epochs, strict=True)],
        leader_recovery_state=state.recovery,
        partition_epoch=state.version,
    )


def _outcome(change: IsrChange, row: Any) -> Outcome:
    if row is None:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    if row.error_code:
        return error_of(row.error_code)
    return PartitionState(
        row.leader_id,
        row.leader_epoch,
        tuple(row.isr),
        change.state.controller_epoch,
        row.partition_epoch,
        row.leader_recovery_state,
    )
