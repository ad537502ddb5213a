"""One round of the cluster campaign: a fresh cluster, clients, faults by lot, several at a time; healed and measured now and then.

Used by: the cluster campaign, and the suite. It starts everything itself and ends only that, by pid.

    EPISODE faults, two to four of them on at any time -> all healed -> ISRs whole again, every partition acknowledges: measured
    ... until as many have fired as were wanted; then clients stop, everything is read and compared, and judged
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.exit_codes import CLEAN
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.shm.region import sweep
from tests.chaos.cluster_end import (
    compare_replicas,
    end_offsets,
    find_left_over,
    read_everything,
    read_group,
    read_kept,
    told_otherwise,
)
from tests.chaos.cluster_nodes import STOP_S, ClusterNode, KafkaNode
from tests.chaos.cluster_stage import ClusterFault, ClusterStage
from tests.chaos.cluster_state import ClusterState
from tests.chaos.cluster_topics import (
    CHURN,
    FLUSHED,
    KEYED,
    MOVING,
    OFFSETS_TOPIC,
    PARTITIONS,
    STABLE,
    TOPIC,
    TOPICS,
    TRIMMED,
    RoundTopic,
)
from tests.chaos.final_look import left_in_shm, verify_logs
from tests.chaos.group_offsets import GroupOffsets
from tests.chaos.held_partitions import accept_held
from tests.chaos.history import History, Outcome, Send
from tests.chaos.judge import Anomaly, judge
from tests.chaos.kafka_python_load import KafkaPythonProducer, KafkaPythonTail
from tests.chaos.key_judge import judge_keys
from tests.chaos.load import Client, IdempotentProducer, KeyWriter, Member, Tail
from tests.chaos.loss_reports import judge_losses, lost_records, read_reports, without_reported
from tests.chaos.network_rooms import Networks
from tests.chaos.power_faults import PowerInTurn
from tests.chaos.private_mounts import FILLER
from tests.chaos.record_trimmer import RecordTrimmer
from tests.chaos.replica_mover import ReplicaMover
from tests.chaos.stand_still import StandStills
from tests.chaos.topic_churn import GIVE_UP_S, TopicChurn
from tests.chaos.topic_churn import PARTITIONS as CHURN_PARTITIONS
from tests.chaos.transactional_load import Transactions
from tests.support import children

NODES = 3
EPISODE = 10  # faults
EPISODE_APART = 1  # of those that take a while, one step after the other
AT_ONCE = (2, 4)
GAP_S = 0.3  # mean, between two faults
WHOLE_S = 30.0  # from the moment at which every node takes connections
WHOLE_MAX_S = 120.0
WHOLE_APART_MAX_S = 60.0
MOVED_S = 30.0  # until reassignments are done, when nothing holds them up
SET_UP_S = 120.0
ABANDON_S = 30.0  # for all clients together to end
SAY_S = 20.0
DISK_BYTES = 256 << 20  # of a node, where it has a disk of its own
TRIES_MAX = 200
GROUP = "workers"
CHURNED = 2
LOADED = (MOVING, TRIMMED, FLUSHED)  # by a producer of its own
SPARE_S = 0.05  # between its sends
IBP, IBP_WITH_TOPIC_IDS = "inter.broker.protocol.version", "2.8"
ZOOKEEPER_PORT = 2181
UNSAFE = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1", "replica.lag.time.max.ms": "1500"}
PATIENT = {"enable.idempotence": False, "acks": "all", "max.in.flight.requests.per.connection": 1}
CARELESS = {"enable.idempotence": False, "acks": 1, "socket.timeout.ms": 2_000}


@dataclass
class ClusterReport:
    """What a round saw."""

    seed: str
    fired: Counter[str] = field(default_factory=Counter)
    whole_s: list[float] = field(default_factory=list)  # until ISRs were whole, one for each episode
    served_s: list[float] = field(default_factory=list)  # until every partition acknowledged
    told_s: list[float] = field(default_factory=list)  # until every node's Metadata said so
    anomalies: list[Anomaly] = field(default_factory=list)
    operations: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    visited: Counter[tuple[str, str]] = field(default_factory=Counter)  # what was done to whom
    at_once: int = 0  # the most faults on at a time
    acknowledged: int = 0
    seconds: float = 0.0


class Aborted(Exception):
    """No further faults make sense in this round."""


class ClusterRound:
    """One round, from an empty directory to a report.

    faults        those that may fire
    node_types    what the nodes are, as many as NODES
    settings      of all nodes, over those that a campaign's nodes have
    has_disks     of their own for the nodes, where they have networks
    is_unsafe     with settings under which records may be lost, to see that it is found
    whole_max_s   how long ISRs may take to be whole again
    visited       what rounds before did to whom: what was done least comes first
    """

    def __init__(
        self,
        directory: Path,
        seed: str,
        faults: Sequence[ClusterFault],
        *,
        node_types: Sequence[type[ClusterNode]] = (ClusterNode,) * NODES,
        settings: Mapping[str, str] | None = None,
        has_networks: bool = False,
        has_disks: bool = False,
        is_unsafe: bool = False,
        may_lose: bool = False,
        whole_max_s: float = WHOLE_S,
        visited: Counter[tuple[str, str]] | None = None,
        say: Callable[[str], object] = lambda _text: None,
    ) -> None:
        self._directory = directory
        self._chance = random.Random(seed)
        assert len(node_types) == NODES
        self._node_types = chance_order(node_types, self._chance)
        wanted = {key: value for one in faults for key, value in one.settings.items()}
        self._settings = {**wanted, **(settings or {}), **(UNSAFE if is_unsafe else {})}
        has_workers = ClusterNode in node_types
        self._faults = [
            one
            for one in faults
            if (has_networks or not one.needs_network)
            and (has_disks or not one.needs_disk)
            and (has_workers or not one.needs_workers)
        ]
        self._weights = [one.weight for one in self._faults]
        self._deck = self._chance.sample(self._faults, len(self._faults))
        self._has_networks = has_networks
        self._disk_bytes = DISK_BYTES if any(one.needs_disk for one in self._faults) else 0
        self._is_unsafe = is_unsafe
        self._may_lose = may_lose or any(one.may_lose for one in faults)  # what is reported
        self._is_apart = any(one.is_apart for one in faults)
        self._healed_max_s = WHOLE_APART_MAX_S if self._is_apart else WHOLE_MAX_S
        self._has_many = any(one.topics for one in faults)  # partitions: all takes longer
        # fewer topics and clients: they are about other faults
        self._is_plain = (
            is_unsafe or self._may_lose or self._is_apart or any(isinstance(one, PowerInTurn) for one in faults)
        )
        self._whole_max_s = WHOLE_APART_MAX_S if self._has_many else whole_max_s
        self._say = say
        self._said_s = 0.0
        self._count_wanted = 0
        self.report = ClusterReport(seed, visited=Counter() if visited is None else visited)
        self._producers: list[Any] = []
        self._tails: list[Any] = []
        self._transactions: Transactions | None = None
        self._topics = [
            one for one in TOPICS if one is STABLE or not (self._is_plain or (one.is_ours and KafkaNode in node_types))
        ]
        self._topics += [topic for one in faults for topic in one.topics]

    def run(self, count: int) -> ClusterReport:
        """Fire so many faults, and judge."""
        began = time.monotonic()
        with ExitStack() as stack:
            try:
                self._set_up(stack)
                try:
                    self._count_wanted = count
                    while (fired := sum(self.report.fired.values())) < count:
                        self._episode(min(EPISODE_APART if self._is_apart else EPISODE, count - fired))
                except Aborted as failure:  # what was seen until then is judged all the same
                    self._blame("aborted", str(failure))
                    self._stage.heal()
                self._settle()
                self._judge()
                self._stop_nodes()
            except (TimeoutError, OSError) as failure:
                self._blame("campaign", f"{type(failure).__name__}: {failure}")
            finally:
                self.report.seconds = time.monotonic() - began
        return self.report

    def _blame(self, kind: str, text: str) -> None:
        self.report.anomalies.append(Anomaly(kind, text))

    # The beginning

    def _set_up(self, stack: ExitStack) -> None:
        networks = Networks(NODES) if self._has_networks else None
        if networks is not None:
            stack.callback(networks.close)
        host, port = (networks.zookeeper, ZOOKEEPER_PORT) if networks else ("127.0.0.1", 0)
        zookeeper = EmbeddedZooKeeper(self._directory / "zookeeper", port, host)
        zookeeper.start()
        stack.callback(zookeeper.stop)
        nodes = [
            self._node_types[number - 1](
                self._directory / f"node-{number}",
                number,
                zookeeper.connect,
                networks.rooms[number - 1] if networks else None,
                self._settings,
                self._disk_bytes,
            )
            for number in range(1, NODES + 1)
        ]
        stack.callback(self._keep_disks, nodes)
        for node in nodes:
            node.launch()
            stack.callback(_end_node, node)
        for node in nodes:
            if (outcome := node.wait_ready(SET_UP_S)) != "ready":
                raise TimeoutError(f"node {node.number} is not ready: {outcome}; its log: {node.directory}")
        state = ClusterState(zookeeper.connect)
        stack.callback(state.close)
        self._stage = ClusterStage(
            self._directory, self._chance, nodes, zookeeper, state, History(), networks, visited=self.report.visited
        )
        stack.callback(self._abandon)
        self._create_topics()
        self._start_clients()
        self._wait_until_whole(SET_UP_S, "at the beginning")

    def _create_topics(self) -> None:
        stage = self._stage
        deadline = time.monotonic() + SET_UP_S
        admin = AdminClient({"bootstrap.servers": stage.bootstrap})
        left = list(self._topics)
        while left:
            try:
                if stage.state.brokers() == {node.number for node in stage.nodes}:
                    wanted = [
                        NewTopic(one.name, one.partitions, one.replicas, config=dict(one.configs)) for one in left
                    ]
                    for name, future in admin.create_topics(wanted).items():
                        future.result(10)
                        left = [one for one in left if one.name != name]
            except KafkaException as failure:
                if "already exists" in str(failure):
                    left = [one for one in left if one.name not in (stage.state.topics() or ())]
                if time.monotonic() > deadline:
                    raise TimeoutError(f"no topic: {failure}") from None
            except TimeoutError:  # of one answer: a slow machine's brokers are asked again
                pass
            if time.monotonic() > deadline:
                raise TimeoutError(f"no topic: brokers {stage.state.brokers()}")
            time.sleep(0.2)

    def _start_clients(self) -> None:
        stage, chance = self._stage, self._chance
        self._producers = [
            self._producer("strict", STABLE, options={"max.in.flight.requests.per.connection": 1}),
            self._producer("idem", STABLE),
        ]
        self._tails = [
            Tail("tail", stage.bootstrap, stage.history, TOPIC, PARTITIONS, self._directory / "tail.log"),
            KafkaPythonTail("python-tail", stage.bootstrap, stage.history, TOPIC, PARTITIONS),
        ]
        self._still = StandStills(stage, self._directory, TOPIC, self._tails)
        self._members = [Member(f"member{n}", stage.bootstrap, stage.history, TOPIC, GROUP) for n in range(2)]
        others: list[Client] = []
        if not (self._is_unsafe or self._is_apart):
            self._producers.append(KafkaPythonProducer("python", stage.bootstrap, stage.history, TOPIC, PARTITIONS))
        if not self._is_plain:
            self._producers += [
                self._producer(f"load{one.name}", one, SPARE_S) for one in self._topics if one in LOADED
            ]
            seed = chance.randrange(1 << 30)
            self._keys = KeyWriter(
                "keys", stage.bootstrap, KEYED.name, KEYED.partitions, seed,
                options={"max.in.flight.requests.per.connection": 1},
            )  # fmt: skip
            stage.mover = ReplicaMover(MOVING, [node.number for node in stage.nodes], stage.bootstrap, seed)
            self._trimmer = RecordTrimmer(TRIMMED, stage.bootstrap, stage.history, seed)
            self._offsets = GroupOffsets(STABLE, stage.bootstrap, stage.history)
            others = [self._keys, stage.mover, self._trimmer, self._offsets]
            source = (STABLE.name, STABLE.partitions)
            self._transactions = Transactions(stage.bootstrap, stage.history, seed, source, self._directory)
            others += self._transactions.clients
        if not self._is_plain and self._settings.get(IBP, "3.9") >= IBP_WITH_TOPIC_IDS:
            stage.churned = [TopicChurn(f"{CHURN}{n}", stage.bootstrap, stage.history) for n in range(CHURNED)]
        stage.clients = [*self._producers, *self._tails, *self._members, *stage.churned, *others]
        for client in stage.clients:
            client.start()

    def _options(self) -> dict[str, Any]:
        """Of producers that may lose records: an idempotent one ends where the broker does not know what it had acknowledged."""
        return CARELESS if self._is_unsafe else PATIENT if self._may_lose else {}

    def _producer(
        self, name: str, topic: RoundTopic, pause_s: float = 0.01, options: Mapping[str, Any] | None = None
    ) -> IdempotentProducer:
        stage = self._stage
        return IdempotentProducer(
            name, stage.bootstrap, stage.history, topic.name, topic.partitions, pause_s,
            log=self._directory / f"{name}.log", options=self._options() or options,
        )  # fmt: skip

    # Faults

    def _episode(self, count: int) -> None:
        """So many faults, overlapping; then all heals, and what it takes is measured."""
        stage, chance = self._stage, self._chance
        fired = 0
        while fired < count:
            if len(stage.active) < chance.randint(*AT_ONCE):
                self._fire_one()
                fired += 1
                self.report.at_once = max(self.report.at_once, len(stage.active))
                stage.sleep(chance.expovariate(1 / GAP_S))
            else:
                stage.sleep(0.1)
            self._check_clients()
            self._tell()
        if stage.mover is not None:
            stage.mover.resting.set()
        healed = stage.heal()
        if self._may_lose and self._is_apart:
            accept_held(stage)
            healed = time.monotonic()
        before = len(self.report.anomalies)
        self.report.served_s.append(self._wait_until_served(healed))
        self.report.whole_s.append(self._wait_until_whole(self._healed_max_s, "after an episode", healed))
        self.report.told_s.append(self._wait_until_told(healed))
        if self._is_apart and len(self.report.anomalies) > before:
            raise Aborted("no further fault: the cluster is not whole")
        there = end_offsets(stage, anomalies=self.report.anomalies) if self._may_lose or self._is_unsafe else None
        self.report.anomalies += self._still.wait(self._still.acknowledged(there))
        stage.has_lost_power = False
        if stage.mover is not None:
            stage.mover.resting.clear()

    def _fire_one(self) -> None:
        """One of each first, in an order by lot; then by weight."""
        stage, chance = self._stage, self._chance
        tried = []
        for _try in range(TRIES_MAX):
            fault = self._deck.pop() if self._deck else chance.choices(self._faults, self._weights)[0]
            if fault.fire(stage, chance):
                self.report.fired[fault.name] += 1
                stage.note_fired()
                self._deck += tried  # their turn comes
                return
            if self._deck:
                tried.append(fault)
            stage.sleep(0.1)
        raise Aborted(f"no fault could fire; on are {[one.name for one in stage.active]}")

    def _check_clients(self) -> None:
        for client in self._stage.clients:
            if client.failure and not client.hangs and not client.stopping.is_set():
                raise Aborted(client.failure)
        for node in self._stage.nodes:
            node.log.look()
            if node.log.looping:
                raise Aborted(f"node {node.number}: {node.log.looping} dies in a loop: {node.log.deaths[-1:]}")
        self._stage.restart_dead()

    def _tell(self) -> None:
        if time.monotonic() - self._said_s > SAY_S:
            self._said_s = time.monotonic()
            acknowledged = sum(one.acknowledged for one in (*self._producers, *self._stage.churned))
            on = ", ".join(one.name for one in self._stage.active)
            self._say(
                f"  round {self.report.seed}: {sum(self.report.fired.values())}/{self._count_wanted} faults,"
                f" {acknowledged} acknowledged; on: {on}"
            )

    def _wait_until_served(self, since: float) -> float:
        """Seconds until every partition acknowledged a record that was sent after this."""
        deadline = since + self._healed_max_s
        written = [STABLE] if self._is_plain else [STABLE, *(one for one in self._topics if one in LOADED)]
        left, first = {(one.name, index) for one in written for index in range(one.partitions)}, 0
        while left and time.monotonic() < deadline:
            operations = self._stage.history.operations
            for one in operations[first:]:
                if isinstance(one, Send) and one.outcome is Outcome.OK and one.began > since:
                    left.discard((one.topic, one.partition))
            first = len(operations)
            self._stage.sleep(0.05)
            self._check_clients()
        if left:
            self._blame(
                "not-served",
                f"partitions {sorted(left)} acknowledge nothing {self._healed_max_s:.0f} s after the last fault",
            )
        return time.monotonic() - since

    def _wait_until_whole(self, limit_s: float, when: str, since: float | None = None) -> float:
        """Seconds until each replica of each partition is in sync, and none is being moved."""
        stage = self._stage
        since = time.monotonic() if since is None else since
        last = found = [""]
        until = max(since + limit_s, time.monotonic() + SAY_S)  # what came before took its time
        while found and time.monotonic() < until:
            topics = stage.state.topics()
            if topics is None or any(one.name not in topics for one in self._topics):
                found = ["topics"]
            else:
                found = stage.state.not_whole(topics)
                found += stage.state.moves(MOVING.name) if MOVING in self._topics else []
            if found:
                last = found
                stage.sleep(0.1)
        took_s = time.monotonic() - since
        if found:
            self._blame("isr", f"not whole {took_s:.0f} s {when}: {found[:4]}")
        elif took_s > self._whole_max_s and when != "at the beginning":
            self._blame("isr", f"whole only after {took_s:.0f} s {when}, the last: {last[:4]}")
        return took_s

    def _wait_until_told(self, since: float) -> float:
        """Seconds until every node's Metadata says what ZooKeeper has."""
        stage = self._stage
        topics = [*(one.name for one in self._topics), OFFSETS_TOPIC]
        last: list[str] = []
        while (found := told_otherwise(stage, topics)) and time.monotonic() < since + self._healed_max_s:
            last = found
            stage.sleep(0.2)
        took_s = time.monotonic() - since
        if found:
            self._blame("metadata", f"{took_s:.0f} s after an episode: {found[:4]}")
        elif (
            last and took_s > self._whole_max_s
        ):  # else it was right when it was first asked for, after all other waits
            self._blame("metadata", f"right only after {took_s:.0f} s, before: {last[:4]}")
        return took_s

    # The end

    def _settle(self) -> None:
        """Clients come to their ends."""
        stage = self._stage
        readers: list[Client] = [*self._tails, *self._members]
        if self._transactions is not None:
            readers.append(self._transactions.tail)
        writers = [client for client in stage.clients if client not in readers]
        for client in writers:
            client.stopping.set()
        for client in writers:
            client.stop()
        self._wait_until_moved()
        ends = end_offsets(stage, anomalies=self.report.anomalies)
        self.report.anomalies += self._still.wait(ends)
        for tail in self._tails:
            tail.stop()
        for member in self._members:
            member.stop()
        for client in stage.clients:
            if client.hangs:
                self.report.notes[f"{client.name} hangs in librdkafka"] += 1
            elif client.failure:
                self._blame("client", client.failure)
            if client.refused:
                self.report.notes[f"{client.name} was told that the topic is unknown"] += client.refused
            if client.unknown_partitions:
                self._told_of_fewer(client)
            for name, number in client.errors.items():
                if (
                    KafkaNode in self._node_types
                ):  # a broker that just started says that it knows no topic, and librdkafka gives up
                    self.report.notes[f"records not delivered: {name}"] += number
                else:
                    self._blame("not-delivered", f"{number} records of {client.name}: {name}")
            if isinstance(client, TopicChurn) and client.gave_up:
                self._gave_up(client)
            if isinstance(client, KafkaPythonProducer):
                self.report.notes.update({f"kafka-python gave up: {why}": n for why, n in client.gave_up.items()})

    def _told_of_fewer(self, client: Client) -> None:
        """Apache Kafka's brokers, while they start, tell of a topic with the partitions that they have heard of; ours with all or none."""
        times = client.unknown_partitions
        if KafkaNode in self._node_types:
            self.report.notes[f"{client.name} was told of fewer partitions"] += times
        else:
            self._blame("metadata", f"{client.name} was told of fewer partitions {times} times")

    def _gave_up(self, client: TopicChurn) -> None:
        """A cluster of ours does what it is asked, once no fault is on; a broker of Kafka's may leave a request without an answer."""
        what = f"{client.gave_up} of {client.topic} not done after the last fault"
        if KafkaNode in self._node_types:
            self.report.notes[what] += 1
        else:
            self._blame("client", f"{what}, {GIVE_UP_S:.0f} s after it was told to stop")

    def _wait_until_moved(self) -> None:
        """Reassignments come to their ends."""
        stage = self._stage
        if stage.mover is None:
            return
        self.report.notes += stage.mover.told + self._trimmer.told
        deadline = time.monotonic() + MOVED_S
        while (found := stage.state.moves(MOVING.name)) and time.monotonic() < deadline:
            stage.sleep(0.1)
        if found:
            self._blame("reassignment", f"not done {MOVED_S:.0f} s after the last fault: {found}")

    def _judge(self) -> None:
        stage, anomalies = self._stage, self.report.anomalies
        if self._transactions is not None:
            anomalies += self._transactions.judge()
            self.report.notes += self._transactions.notes()
        for topic in self._topics:
            if topic not in TOPICS:  # of a fault's own: nobody writes there
                continue
            if topic is KEYED:
                anomalies += judge_keys(self._keys.writes, read_kept(stage, topic.name, topic.partitions, anomalies))
            else:
                anomalies += read_everything(stage, topic.name, topic.partitions)
        for one in stage.churned:
            if one.is_there:
                anomalies += read_everything(stage, one.topic, CHURN_PARTITIONS, one.generation)
            stage.notes["topics created and deleted"] += one.generation - 1
        anomalies += read_group(stage, GROUP)
        if not self._is_plain:
            anomalies += self._offsets.read_all()
        found = self._without_new_epochs(judge(stage.history.operations))
        anomalies += self._unreported(found) if self._may_lose else found
        anomalies += compare_replicas(stage)
        anomalies += find_left_over(stage)
        anomalies += stage.anomalies
        for node in stage.nodes:
            node.log.look()
            anomalies += [Anomaly("died", f"node {node.number}: {death}") for death in node.log.deaths]
            tracebacks = Counter(node.log.tracebacks) if node.kind == "headrace" else {}
            anomalies += [Anomaly("traceback", f"node {node.number}: {n} x {text}") for text, n in tracebacks.items()]
        self._count()

    def _without_new_epochs(self, found: list[Anomaly]) -> list[Anomaly]:
        """Duplicates of a producer that began a new epoch are its own (docs/decisions/025): they are counted, not blamed.

        With one request in flight it has no reason to begin one: `strict` shows that nothing is stored twice.
        """
        bumped = {one.name for one in self._producers if isinstance(one, IdempotentProducer) and one.new_epochs()}
        bumped.discard("strict")
        own = [one for one in found if one.kind == "duplicate" and one.text.split("-")[0] in bumped]
        self.report.notes["duplicates of producers that began a new epoch"] += len(own)
        return [one for one in found if one not in own]

    def _unreported(self, found: list[Anomaly]) -> list[Anomaly]:
        """Losses are allowed that a node's log tells of."""
        operations = self._stage.history.operations
        reports = [
            one
            for node in self._stage.nodes
            for one in read_reports(node.log.path.read_text("utf-8", "replace").splitlines())
        ]
        lost = lost_records(operations)
        unreported = judge_losses(lost, reports, time.time() - time.monotonic())
        self.report.notes["acknowledged records lost"] += len(lost)
        self.report.notes["losses reported, by partition and node"] += len(reports)
        return [*unreported, *without_reported(found, reports)]

    def _count(self) -> None:
        report = self.report
        for one in self._stage.history.operations:
            outcome = getattr(one, "outcome", None)
            name = type(one).__name__.lower()
            report.operations[f"{name} {outcome.value}" if outcome is not None else name] += 1
        report.acknowledged = sum(one.acknowledged for one in (*self._producers, *self._stage.churned))
        report.notes += self._stage.notes
        if not self._is_plain:
            report.acknowledged += self._keys.acknowledged
            report.notes["commits of offsets of other groups"] += self._offsets.commits
        for one in self._producers:
            if isinstance(one, IdempotentProducer) and one.new_epochs():
                report.notes[f"new epochs of {one.name}"] += one.new_epochs()

    def _stop_nodes(self) -> None:
        """All at once; what our nodes leave is checked."""
        nodes = self._stage.nodes
        for node in nodes:
            node.ask_to_stop()
        deadline = time.monotonic() + STOP_S
        for node in nodes:
            assert node.process is not None
            while node.is_running and time.monotonic() < deadline:
                time.sleep(0.05)
            if node.is_running:
                if node.kind == "headrace":
                    self._blame("exit-code", f"node {node.number} has not stopped in {STOP_S:.0f} s")
                else:
                    self.report.notes[f"{node.kind} did not stop in the end"] += 1
                node.kill()
            elif node.kind == "headrace":
                if node.process.returncode != CLEAN and not self._has_many:
                    self._blame(
                        "exit-code", f"node {node.number}: the last SIGTERM ended with {node.process.returncode}"
                    )
                self.report.anomalies += verify_logs(node)
                if left := left_in_shm(node):
                    self._blame("left-in-shm", f"node {node.number}: {left[:3]} ({len(left)} in all)")

    def _keep_disks(self, nodes: Sequence[ClusterNode]) -> None:
        """What is on disks of their own is gone with them: of a round that failed it is kept."""
        for node in nodes if self.report.anomalies else ():
            if node.has_disk:
                shutil.copytree(
                    node.path(node.disk), node.disk, ignore=shutil.ignore_patterns(FILLER), dirs_exist_ok=True
                )

    def _abandon(self) -> None:
        """However the round ended: nobody goes on, and no thread is left but those that librdkafka holds."""
        clients: list[Client] = self._stage.clients
        for client in clients:
            client.abandon()
        deadline = time.monotonic() + ABANDON_S
        for client in clients:
            if client.thread.is_alive() and not client.hangs:
                client.thread.join(max(0.0, deadline - time.monotonic()))


def chance_order(node_types: Sequence[type[ClusterNode]], chance: random.Random) -> list[type[ClusterNode]]:
    """Which node is of which kind, by lot."""
    return chance.sample(list(node_types), len(node_types))


def _end_node(node: ClusterNode) -> None:
    if node.is_running:
        assert node.process is not None
        node.continue_all()
        children.end(node.process)
    sweep(node.region_prefix)  # a killed one that nobody starts again leaves them
