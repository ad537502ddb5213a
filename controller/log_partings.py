"""Where held logs have parted from those of other brokers: owners tell the epochs of ours, brokers where theirs ended.

Runs in: the controller process of a node that holds replicas (decision 015); `agent/log_parting.py` says what follows of an answer.
OffsetForLeaderEpoch with the replica id -2: a node of ours answers for what it does not lead, Apache's broker for what it leads. A broker
that does not answer, or not for a partition, leaves it unknown. One request in flight to each broker, of LOG_ENDS_PER_REQUEST_MAX
partitions at most.

Source: Kafka `OffsetsForLeaderEpochRequest.DEBUGGING_REPLICA_ID`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from functools import partial

from headrace.controller.agent.log_parting import Epochs, answered, last_before
from headrace.controller.agent.new_replicas import Ask
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.log_ends import ANSWER_MS, DEBUGGING_REPLICA
from headrace.errors import BadFrame
from headrace.ids import NO_EPOCH, owner_of, partition_key
from headrace.limits import LOG_ENDS_PER_REQUEST_MAX, LOG_EPOCHS_PER_REQUEST_MAX, LOG_PARTING_ROUNDS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.runtime.peer import Peer
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peers import Peers
from headrace.runtime.tasks import Future, Tasks
from headrace.shm.messages import LOG_EPOCH, LOG_EPOCHS_ASKED, LOG_EPOCHS_TOLD, ReplyStatus, RequestKind
from headrace.shm.partition_table import IN_SERVICE, PartitionRow, RowState
from headrace.shm.seat import Seat

Place = tuple[str, int]  # topic and partition
_Row = messages.OffsetForLeaderEpochRequest.OffsetForLeaderPartition
_Topic = messages.OffsetForLeaderEpochRequest.OffsetForLeaderTopic

_log = logging.getLogger(__name__)


class LogPartings:
    """Those of one node.

    version   of OffsetForLeaderEpoch
    ask_own   asks another process of the node
    """

    def __init__(self, seat: Seat, known: KnownCluster, peers: Peers, tasks: Tasks, version: int, ask_own: Ask) -> None:
        self._seat = seat
        self._known = known
        self._peers = peers
        self._tasks = tasks
        self._version = version
        self._ask_own = ask_own

    def mark(self, place: Place) -> int:
        """The high watermark of a replica here, -1: not known."""
        row = self._row(place)
        return row.high_watermark if row is not None else -1

    def is_out(self, place: Place) -> bool:
        """Whether the log of a replica here is out of service: its directory failed, or it is damaged beyond opening."""
        row = self._row(place)
        return row is not None and row.state == RowState.OFFLINE

    def is_open(self, place: Place) -> bool:
        """Whether the log of a replica here is in service. Else its row says nothing of it.

        It is not published yet (a new region, an owner that is not answered), is torn, is of an owner that was killed, or its opening
        failed or was postponed.
        """
        row = self._row(place)
        wiring = self._seat.wiring
        owner = wiring.network_count + owner_of(*place, wiring.partition_count)
        is_current = row is not None and row.generation == self._seat.processes.generation(owner)
        return is_current and row is not None and row.state in IN_SERVICE

    def _row(self, place: Place) -> PartitionRow | None:
        topic = self._known.topics.get(place[0])
        slot = self._known.slots.get(*place) if topic is not None else -1
        row = self._seat.partitions.read(slot) if slot >= 0 else None
        is_ours = topic is not None and row is not None and row.key == partition_key(*place, topic.topic_id)
        return row if is_ours else None

    async def ask(self, wanted: Mapping[int, Mapping[Place, int]]) -> dict[int, dict[Place, int]]:
        """By broker: up to which offset our log is the same; what is not known is left out.

        wanted   the partitions that each broker is asked for, and up to where ours is compared: its end, or where the two have parted at
                 the latest
        """
        own = await self._own_epochs({place for places in wanted.values() for place in places})
        found: dict[int, dict[Place, int]] = {}
        brokers = iter(wanted)

        async def ask_next() -> None:
            for broker in brokers:
                known = {one: (own[one], bound) for one, bound in wanted[broker].items() if one in own}
                found[broker] = await self._ask_broker(broker, known)

        await self._tasks.share(len(wanted), ask_next)
        return found

    async def _own_epochs(self, places: Collection[Place]) -> dict[Place, Epochs]:
        """Epochs of our logs, of those that are open. A log without epochs says nothing."""
        wiring = self._seat.wiring
        by_owner: dict[int, list[tuple[Place, int, int]]] = {}
        for place in places:
            topic, slot = self._known.topics.get(place[0]), self._known.slots.get(*place)
            row = self._seat.partitions.read(slot) if topic is not None and slot >= 0 else None
            if topic is None or row is None:
                continue
            key = partition_key(*place, topic.topic_id)
            owner = wiring.network_count + owner_of(*place, wiring.partition_count)
            if row.key == key:
                by_owner.setdefault(owner, []).append((place, slot, key))
        found: dict[Place, Epochs] = {}
        for owner, rows in by_owner.items():
            for first in range(0, len(rows), LOG_EPOCHS_PER_REQUEST_MAX):
                part = rows[first : first + LOG_EPOCHS_PER_REQUEST_MAX]
                told = _epochs_in(await self._ask_owner(owner, part))
                found.update({one[0]: told[one[2]] for one in part if told.get(one[2])})
        return found

    async def _ask_owner(self, owner: int, rows: Collection[tuple[Place, int, int]]) -> bytes:
        heard: Future[bytes | None] = Future()
        body = b"".join(LOG_EPOCHS_ASKED.pack(slot, key) for _place, slot, key in rows)
        if not self._ask_own(owner, RequestKind.LOG_EPOCHS, body, partial(self._hear, heard)):
            return b""
        self._tasks.expect(heard, ANSWER_MS, None)
        return await heard or b""

    def _hear(self, heard: Future[bytes | None], status: ReplyStatus, body: memoryview) -> None:
        if not heard.is_done:
            self._tasks.unexpect(heard)
            heard.complete(bytes(body) if status is ReplyStatus.ANSWERED else None)

    async def _ask_broker(self, broker: int, own: Mapping[Place, tuple[Epochs, int]]) -> dict[Place, int]:
        found: dict[Place, int] = {}
        target = self._known.brokers.get(broker)
        if not own or target is None:
            return found
        options = PeerOptions(client_id=str(self._known.node_id), requests_max=1)
        peer = self._peers.open(target.host, target.port, options)
        if peer is None:
            return found
        try:
            asked = {}
            for place, (epochs, bound) in own.items():
                epoch = last_before(epochs, bound)
                if epoch == NO_EPOCH:
                    found[place] = bound  # nothing of ours is before
                else:
                    asked[place] = epoch
            for _round in range(LOG_PARTING_ROUNDS_MAX):
                if not asked:
                    break
                asked = await self._ask_round(peer, broker, asked, own, found)
        finally:
            self._peers.close(peer)
        return found

    async def _ask_round(
        self,
        peer: Peer,
        broker: int,
        asked: Mapping[Place, int],
        own: Mapping[Place, tuple[Epochs, int]],
        found: dict[Place, int],
    ) -> dict[Place, int]:
        """Ask where these epochs ended; returns what is to be asked next."""
        following: dict[Place, int] = {}
        places = list(asked)
        for first in range(0, len(places), LOG_ENDS_PER_REQUEST_MAX):
            part = {place: asked[place] for place in places[first : first + LOG_ENDS_PER_REQUEST_MAX]}
            for place, (epoch, epoch_end) in (await self._ask_ends(peer, broker, part)).items():
                if place not in part:
                    continue
                parting = answered(*own[place], part[place], epoch, epoch_end)
                if parting.offset >= 0:
                    found[place] = parting.offset
                elif NO_EPOCH < parting.next_epoch < part[place]:
                    following[place] = parting.next_epoch
        return following

    async def _ask_ends(self, peer: Peer, broker: int, asked: Mapping[Place, int]) -> dict[Place, tuple[int, int]]:
        heard: Future[bytes | None] = Future()

        def hear(outcome: Outcome, body: memoryview) -> None:
            if not heard.is_done:
                heard.complete(bytes(body) if outcome is Outcome.ANSWERED else None)

        rows: dict[str, list[_Row]] = {}
        for (name, index), epoch in asked.items():
            rows.setdefault(name, []).append(_Row(partition=index, current_leader_epoch=NO_EPOCH, leader_epoch=epoch))
        topics = [_Topic(topic=name, partitions=part) for name, part in rows.items()]
        request = messages.OffsetForLeaderEpochRequest(replica_id=DEBUGGING_REPLICA, topics=topics)
        if not peer.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, self._version, request, hear, ANSWER_MS):
            return {}
        body = await heard
        if body is None:
            return {}
        try:
            response = decode_response(ApiKey.OFFSET_FOR_LEADER_EPOCH, self._version, body)
        except BadFrame as failure:
            _log.warning("response rejected api=OffsetForLeaderEpoch broker=%d reason=%s", broker, failure)
            return {}
        return {
            (topic.topic, row.partition): (row.leader_epoch, row.end_offset)
            for topic in response.topics
            for row in topic.partitions
            if not row.error_code
        }


def _epochs_in(body: bytes) -> dict[int, Epochs]:
    """By the key of the partition."""
    found: dict[int, Epochs] = {}
    position = 0
    while position < len(body):
        key, count = LOG_EPOCHS_TOLD.unpack_from(body, position)
        position += LOG_EPOCHS_TOLD.size
        end = position + count * LOG_EPOCH.size
        found[key] = list(LOG_EPOCH.iter_unpack(body[position:end]))
        position = end
    return found
