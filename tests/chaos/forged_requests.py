"""Requests that brokers and controllers send each other, late or forged: from a client that knows today's epochs of controller and broker.

Used by: both campaigns. A request that was delayed on a connection that its sender has given up looks like these; so does one of
anybody where no authorizer is set. Each carries the leader epoch or the broker epoch of before, or no topic id.

    update-metadata   leader -2, without a topic id: a topic of that name is being deleted
    stop-replica      the replica is to be deleted, by a leader epoch of before, or -2
    leader-and-isr    somebody else leads, in an epoch of before; is_new
    alter-partition   an ISR of one, by a broker epoch of before
    follower-fetch    a follower has everything, says a broker epoch of before

No record may go. What is answered is counted; another controller process makes the views of nodes right again.
"""

from __future__ import annotations

import base64
import json
import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from headrace.client.connection import Connection
from headrace.errors import ErrorCode, HeadraceError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.chaos.cluster_stage import ClusterFault, ClusterStage
from tests.chaos.cluster_topics import PARTITIONS, TOPIC
from tests.chaos.stage import Fault, Stage

ASK_S = 5.0
SESSION_S = 4.0
AFTER_MAX_S = 3.0  # until the controller process starts again
DURING_DELETE = -2  # as a leader, and as a leader epoch
VERSIONS = {
    ApiKey.UPDATE_METADATA: 6,
    ApiKey.STOP_REPLICA: 3,
    ApiKey.LEADER_AND_ISR: 4,
    ApiKey.ALTER_PARTITION: 1,
    ApiKey.FETCH: 15,
}
ZK_ERRORS = (KazooException, KazooTimeoutError, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class Known:
    """What a forger of requests knows: of one partition, and of the broker that it asks."""

    topic: str
    topic_id: bytes
    partition: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    controller: int
    controller_epoch: int
    broker: int
    broker_epoch: int
    brokers: Mapping[int, tuple[str, int]]  # host and port by id


def look(connect: str, topic: str, partition: int, broker: int) -> Known | None:
    """From ZooKeeper; None where it does not say."""
    client = KazooClient(hosts=connect, timeout=SESSION_S)
    try:
        client.start(timeout=SESSION_S)
        topic_row = json.loads(client.get(f"/brokers/topics/{topic}")[0])
        data, stat = client.get(f"/brokers/topics/{topic}/partitions/{partition}/state")
        state = json.loads(data)
        brokers = {}
        for text in client.get_children("/brokers/ids"):
            one = json.loads(client.get(f"/brokers/ids/{text}")[0])
            brokers[int(text)] = (one["host"], one["port"])
        if broker not in brokers:  # it registers just now
            return None
        return Known(
            topic,
            _uuid_of(topic_row.get("topic_id", "")),
            partition,
            state["leader_epoch"],
            tuple(state["isr"]),
            stat.version,
            tuple(topic_row["partitions"][str(partition)]),
            json.loads(client.get("/controller")[0])["brokerid"],
            int(client.get("/controller_epoch")[0]),
            broker,
            client.get(f"/brokers/ids/{broker}")[1].czxid,
            brokers,
        )
    except (*ZK_ERRORS, KeyError):
        return None
    finally:
        client.stop()
        client.close()


def _uuid_of(text: str) -> bytes:
    """ZooKeeper has it as base64 for URLs."""
    return base64.urlsafe_b64decode(text + "==") if text else bytes(16)


def update_metadata(known: Known, _chance: random.Random) -> Any:
    """v6: it has no topic id."""
    request = messages.UpdateMetadataRequest
    live = [
        request.UpdateMetadataBroker(
            id=number,
            endpoints=[request.UpdateMetadataEndpoint(port=port, host=host, listener="PLAINTEXT", security_protocol=0)],
        )
        for number, (host, port) in known.brokers.items()
    ]
    row = request.UpdateMetadataPartitionState(
        partition_index=known.partition,
        controller_epoch=known.controller_epoch,
        leader=DURING_DELETE,
        leader_epoch=max(0, known.leader_epoch - 1),
        isr=list(known.isr),
        zk_version=0,
        replicas=list(known.replicas),
    )
    return request(
        controller_id=known.controller,
        controller_epoch=known.controller_epoch,
        broker_epoch=known.broker_epoch,
        topic_states=[request.UpdateMetadataTopicState(topic_name=known.topic, partition_states=[row])],
        live_brokers=live,
    )


def stop_replica(known: Known, chance: random.Random) -> Any:
    """Of the deletion of a topic of that name, or of a leader epoch that is over."""
    request = messages.StopReplicaRequest
    epoch = chance.choice([DURING_DELETE, known.leader_epoch - 1])
    row = request.StopReplicaPartitionState(partition_index=known.partition, leader_epoch=epoch, delete_partition=True)
    return request(
        controller_id=known.controller,
        controller_epoch=known.controller_epoch,
        broker_epoch=known.broker_epoch,
        topic_states=[request.StopReplicaTopicState(topic_name=known.topic, partition_states=[row])],
    )


def leader_and_isr(known: Known, chance: random.Random) -> Any:
    """Of an epoch that is over."""
    request = messages.LeaderAndIsrRequest
    other = chance.choice([*known.brokers])
    row = request.LeaderAndIsrPartitionState(
        partition_index=known.partition,
        controller_epoch=known.controller_epoch,
        leader=other,
        leader_epoch=max(0, known.leader_epoch - 1),
        isr=[other],
        partition_epoch=max(0, known.partition_epoch - 1),
        replicas=list(known.replicas),
        is_new=chance.random() < 0.5,
    )
    live = [request.LeaderAndIsrLiveLeader(number, *place) for number, place in known.brokers.items()]
    return request(
        controller_id=known.controller,
        controller_epoch=known.controller_epoch,
        broker_epoch=known.broker_epoch,
        topic_states=[request.LeaderAndIsrTopicState(topic_name=known.topic, partition_states=[row])],
        live_leaders=live,
    )


def alter_partition(known: Known, chance: random.Random) -> Any:
    """By a broker in its life before, or of a state that is over."""
    request = messages.AlterPartitionRequest
    is_life = chance.random() < 0.5
    return request(
        broker_id=known.broker,
        broker_epoch=known.broker_epoch - is_life,
        topics=[
            request.TopicData(
                topic_name=known.topic,
                partitions=[
                    request.PartitionData(
                        partition_index=known.partition,
                        leader_epoch=known.leader_epoch,
                        new_isr=[known.broker],
                        partition_epoch=known.partition_epoch - (not is_life),
                    )
                ],
            )
        ],
    )


def follower_fetch(known: Known, chance: random.Random) -> Any:
    """A follower in its life before has what it does not have."""
    request = messages.FetchRequest
    others = [number for number in known.replicas if number != known.broker] or [known.broker]
    wanted = request.FetchPartition(
        partition=known.partition,
        current_leader_epoch=known.leader_epoch,
        fetch_offset=chance.randrange(1, 10_000),
        last_fetched_epoch=known.leader_epoch,
        partition_max_bytes=1 << 20,
    )
    return request(
        replica_state=request.ReplicaState(chance.choice(others), known.broker_epoch - 1),
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        topics=[request.FetchTopic(topic_id=known.topic_id, partitions=[wanted])],
    )


KINDS: Mapping[str, tuple[ApiKey, Callable[[Known, random.Random], Any]]] = {
    "update-metadata": (ApiKey.UPDATE_METADATA, update_metadata),
    "stop-replica": (ApiKey.STOP_REPLICA, stop_replica),
    "leader-and-isr": (ApiKey.LEADER_AND_ISR, leader_and_isr),
    "alter-partition": (ApiKey.ALTER_PARTITION, alter_partition),
    "follower-fetch": (ApiKey.FETCH, follower_fetch),
}


def send(kind: str, known: Known, chance: random.Random) -> str:
    """To the broker that is known; what it answered, or why it did not."""
    api_key, build = KINDS[kind]
    host, port = known.brokers[known.broker]
    try:
        connection = Connection(host, port, timeout_s=ASK_S)
        try:
            answer = connection.request(api_key, VERSIONS[api_key], build(known, chance))
        finally:
            connection.close()
    except (HeadraceError, OSError) as failure:
        return type(failure).__name__
    return ErrorCode(answer.error_code).name


class ForgedToNode(Fault):
    """To the node of the campaign, about a topic at rest."""

    def __init__(self, kind: str, weight: float) -> None:
        self.forged, self.weight, self.name = kind, weight, f"forged-{kind}"

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        topic = chance.choice(stage.resting).topic
        known = look(stage.zookeeper.connect, topic, 0, int(stage.node.settings["broker.id"]))
        if known is None:
            return None
        now = time.monotonic()
        stage.notes[f"{self.name}: {send(self.forged, known, chance)}"] += 1
        stage.later(chance.uniform(0, AFTER_MAX_S), lambda: _new_controller(stage))
        return now


def _new_controller(stage: Stage) -> None:
    for pid in stage.node.children().get("controller", ()):
        stage.node.signal(pid, signal.SIGKILL)


class ForgedToCluster(ClusterFault):
    """To every node that lives, about a partition that is written."""

    def __init__(self, kind: str, weight: float = 1.0) -> None:
        self.forged, self.weight, self.name = kind, weight, f"forged-{kind}"

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        if not stage.is_zookeeper_up:
            return False
        partition = chance.randrange(PARTITIONS)
        sent = 0
        for node in stage.free_nodes():
            if node.kind != "headrace":
                continue
            known = look(stage.zookeeper.connect, TOPIC, partition, node.number)
            if known is not None:
                stage.notes[f"{self.name}: {send(self.forged, known, chance)}"] += 1
                stage.visit(self.name, "leader" if known.isr[:1] == (node.number,) else "follower")
                sent += 1
        if sent:
            stage.begin(self.name, chance.uniform(0, AFTER_MAX_S), lambda: _another_controller(stage))
        return sent > 0


def _another_controller(stage: ClusterStage) -> float | None:
    """The views of nodes are right again after another controller process has sent them; None, once that one is on its way."""
    number = stage.state.controller()
    for node in stage.free_nodes():
        if node.number == number:
            for pid in node.children().get("controller", ()):
                node.signal(pid, signal.SIGKILL)
            return None
    return 1.0


FORGED_TO_NODE: list[Fault] = [ForgedToNode(kind, 1.0) for kind in KINDS]
FORGED_TO_CLUSTER: list[ClusterFault] = [ForgedToCluster(kind) for kind in KINDS]
