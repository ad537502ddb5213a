"""One round: a fresh directory, a ZooKeeper, a node with settings by lot, clients, faults by lot, and the judgement.

Used by: the campaign, which runs one round after the other, and the suite, which runs a short one. It starts everything itself and ends
only that, by pid.

    topics   stable    4 partitions: idempotent producers, the probe, a consumer that reads on and on, a group
             keyed     compacted while it is written
             trimmed   DeleteRecords under load
             churn-N   deleted and created again under load
             rest-N    some records, some deleted, a committed offset; then nobody touches them
             flap-N    the same, made while ZooKeeper comes and goes
             late-N    made, and then forgotten by a ZooKeeper that was taken back
             transacted, copied   written in transactions (`transactional_load.py`)
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from tests.chaos import machine_crash
from tests.chaos.checkpoint_judge import judge_checkpoints
from tests.chaos.final_look import left_in_shm, look_at_orphans, read_groups, read_keys, read_topic, verify_logs
from tests.chaos.history import History, Outcome, Send
from tests.chaos.judge import Anomaly, judge
from tests.chaos.key_judge import judge_keys
from tests.chaos.load import IdempotentProducer, KeyWriter, Member, Tail
from tests.chaos.private_mounts import PrivateMounts
from tests.chaos.prober import Prober
from tests.chaos.raw_client import LATEST, raw_client, until
from tests.chaos.running_node import Node, NotReady
from tests.chaos.shim import Shim
from tests.chaos.stage import Fault, Kind, Stage
from tests.chaos.tcp_proxy import TcpProxy
from tests.chaos.topic_clients import TopicClient
from tests.chaos.transactional_load import COPIED, TRANSACTED, Transactions
from tests.chaos.transactional_load import PARTITIONS as TRANSACTED_PARTITIONS
from tests.support.waiting import DEADLINE_S

STABLE, KEYED, TRIMMED = "stable", "keyed", "trimmed"
PARTITIONS = 4
CHURNED = 3
RESTING = 6
OWED_MAX = 8  # faults after which the node has not served again: no further one until it does
SERVES_DEADLINE_S = 120.0
QUIET_S = 60.0
SAY_S = 20.0
NODE_DEATHS_MAX = 3
SHM_BYTES = 80 << 20
SMALL_DISK_BYTES = 64 << 20
TRIES_MAX = 200  # of drawing a fault that can fire


@dataclass
class Report:
    """What a round saw."""

    seed: str
    fired: Counter[str] = field(default_factory=Counter)
    times_s: dict[str, list[float]] = field(default_factory=dict)
    anomalies: list[Anomaly] = field(default_factory=list)
    operations: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    seconds: float = 0.0

    @property
    def faults(self) -> int:
        return sum(self.fired.values())


def settings_by_lot(chance: random.Random) -> dict[str, str]:
    """Half of the rounds with short intervals, so that what happens between two checkpoints happens often."""
    settings = {
        "headrace.network.workers": str(chance.choice([1, 2, 2])),
        "headrace.partition.workers": str(chance.choice([1, 2, 2, 3])),
        "zookeeper.session.timeout.ms": "6000",
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "100",
        "offsets.topic.num.partitions": "6",
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.segment.bytes": chance.choice(["20000", "104857600"]),
        "offsets.topic.segment.bytes": chance.choice(["20000", "1048576"]),
        "log.segment.bytes": chance.choice(["20000", "200000", "4194304", "1073741824"]),
        "log.cleaner.backoff.ms": "300",
        "log.cleaner.min.cleanable.ratio": "0.1",
        "headrace.log.dir.free.bytes.min": "1048576",
        "headrace.request.ring.bytes": "4194304",
    }
    if chance.random() < 0.6:
        interval_ms = chance.choice(["500", "2000"])
        settings |= {
            "log.flush.offset.checkpoint.interval.ms": interval_ms,
            "log.flush.start.offset.checkpoint.interval.ms": interval_ms,
            "replica.high.watermark.checkpoint.interval.ms": "300",
            "log.segment.delete.delay.ms": "1000",
            "log.retention.check.interval.ms": "500",
        }
    return settings


class Aborted(Exception):
    """No further faults make sense in this round."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Round:
    """One round, from an empty directory to a report.

    faults    those that may fire
    mounts    give the node mounts of its own, for faults that need them
    pause_s   mean pause between two faults
    say       told how far the round is, now and then
    """

    def __init__(
        self,
        directory: Path,
        seed: str,
        faults: Sequence[Fault],
        *,
        mounts: bool = False,
        pause_s: float = 0.15,
        say: Callable[[str], object] = lambda _text: None,
    ) -> None:
        self._directory = directory
        self._chance = random.Random(seed)
        self._faults = [fault for fault in faults if mounts or not fault.is_private]
        self._has_shim = any(fault.needs_shim for fault in self._faults)
        self._weights = [fault.weight for fault in self._faults]
        self._deck = self._chance.sample(self._faults, len(self._faults))
        self._is_private = mounts
        self._pause_s = pause_s
        self._say = say
        self.report = Report(seed)
        self._stage: Stage
        self._producers: list[IdempotentProducer] = []
        self._tails: list[Tail] = []
        self._keys: KeyWriter
        self._unread: set[str] = set()  # topics that may or may not be there

    def run(self, count: int) -> Report:
        """Fire so many faults, and judge."""
        began = time.monotonic()
        with ExitStack() as stack:
            try:
                self._set_up(stack)
                try:
                    self._fire_all(count)
                except Aborted as failure:  # what was seen until then is judged all the same
                    self._blame(failure.kind, str(failure))
                except NotReady as failure:
                    self._blame("not-ready", str(failure)[-1000:])
                    self._stage.kill_tree()
                    self._stage.node.start()
                self._settle()
                self._judge()
                self._finish()
            except (NotReady, TimeoutError) as failure:
                self._blame("not-ready", str(failure))
            finally:
                self.report.seconds = time.monotonic() - began
        return self.report

    def _blame(self, kind: str, text: str) -> None:
        self.report.anomalies.append(Anomaly(kind, text))

    # The beginning

    def _set_up(self, stack: ExitStack) -> None:
        zookeeper = EmbeddedZooKeeper(self._directory / "zookeeper")
        zookeeper.start()
        stack.callback(zookeeper.stop)
        proxy = TcpProxy(lambda: ("127.0.0.1", zookeeper.port))
        stack.callback(proxy.close)
        node = self._new_node(stack, proxy)
        stack.callback(_end_node, node)
        node.start()
        history = History()
        chance = self._chance
        prober = Prober(lambda: node.port, history, STABLE, PARTITIONS)
        self._stage = stage = Stage(self._directory, chance, node, zookeeper, proxy, history, prober)
        stack.callback(self._abandon)
        with raw_client(lambda: node.port) as raw:
            compacted = {"cleanup.policy": "compact", "segment.bytes": "20000", "min.cleanable.dirty.ratio": "0.1"}
            transacted = [(TRANSACTED, TRANSACTED_PARTITIONS, {}), (COPIED, PARTITIONS, {})]
            for topic, partitions, configs in ((STABLE, PARTITIONS, {}), (KEYED, 2, compacted), *transacted):
                until(lambda t=topic, p=partitions, c=configs: raw.create(t, p, c) in (0, 36) or None, DEADLINE_S)  # type: ignore[misc]
        stage.trimmed = [TopicClient(TRIMMED, node, history, random.Random(chance.random()), 2)]
        stage.churned = [
            TopicClient(f"churn-{n}", node, history, random.Random(chance.random()), 1 + n % 2) for n in range(CHURNED)
        ]
        for client in (*stage.trimmed, *stage.churned):
            client.create()
        stage.resting = [self._rest(f"rest-{n}") for n in range(RESTING)]
        self._producers = [
            IdempotentProducer(
                f"idem{n}", node.bootstrap, history, STABLE, PARTITIONS, log=self._directory / f"idem{n}.log"
            )
            for n in range(2)
        ]
        self._tails = [Tail("tail", node.bootstrap, history, STABLE, PARTITIONS)]
        self._keys = KeyWriter("keys", node.bootstrap, KEYED, 2, chance.randrange(1 << 30))
        self._member = Member("workers", node.bootstrap, history, STABLE)
        seed = chance.randrange(1 << 30)
        self._transactions = Transactions(node.bootstrap, history, seed, (STABLE, PARTITIONS), self._directory)
        stage.others = [*self._producers, *self._tails, self._keys, self._member, *self._transactions.clients]
        for client in stage.everyone:
            client.start()

    def _new_node(self, stack: ExitStack, proxy: TcpProxy) -> Node:
        settings = settings_by_lot(self._chance)
        settings |= {key: value for fault in self._faults for key, value in fault.settings.items()}
        mounts = None
        if self._is_private:
            directories = [self._directory / "logs-a", self._directory / "logs-b"]
            for path in directories:
                path.mkdir()
            settings["log.dirs"] = ",".join(map(str, directories))
            mounts = PrivateMounts({Path("/dev/shm"): SHM_BYTES, self._chance.choice(directories): SMALL_DISK_BYTES})
            stack.callback(mounts.close)
        node = Node(self._directory, proxy.address, settings=settings, mounts=mounts)
        if self._has_shim:
            node.shim = Shim(self._directory, self._directory)
        return node

    def _rest(self, topic: str) -> TopicClient:
        """A topic that nobody touches after this."""
        client = TopicClient(topic, self._stage.node, self._stage.history, random.Random(self._chance.random()))
        client.create()
        for _ in range(3):
            client.write(0, 10)
        if self._chance.random() < 0.7:
            client.trim()
        client.read(0)
        client.read(0)
        client.commit(0)
        client.raw.close()
        return client

    # Faults

    def _fire_all(self, count: int) -> None:
        stage = self._stage
        deaths, said_s = 0, time.monotonic()
        while self.report.faults < count:
            self._fire_one()
            if time.monotonic() - said_s > SAY_S:
                said_s = time.monotonic()
                acknowledged = stage.prober.acknowledged + sum(one.acknowledged for one in self._producers)
                self._say(
                    f"  round {self.report.seed}: {self.report.faults}/{count} faults, {acknowledged} acknowledged"
                )
            stage.sleep(self._chance.expovariate(1 / self._pause_s))
            while len(stage.prober.watches) >= OWED_MAX or stage.prober.oldest_s() > 10.0:
                stage.sleep(0.02)
                if stage.prober.oldest_s() > SERVES_DEADLINE_S:
                    owed = [(watch.fault, sorted(watch.left)) for watch in stage.prober.watches]
                    raise Aborted("not-served", f"not again within {SERVES_DEADLINE_S:.0f} s: {owed[:3]}")
                deaths += self._look_at_node()
            deaths += self._look_at_node()
            if deaths > NODE_DEATHS_MAX:
                return

    def _fire_one(self) -> None:
        """One of each first, in an order by lot; then by weight."""
        for _try in range(TRIES_MAX):
            fault = self._deck.pop() if self._deck else self._chance.choices(self._faults, self._weights)[0]
            if self._begin(fault):
                return
            self._stage.sleep(0.01)

    def _begin(self, fault: Fault) -> bool:
        """Fire it here, or send it off; False where it could not happen."""
        stage, chance = self._stage, self._chance
        if fault.kind is not Kind.JOB:
            if fault.kind is Kind.HEAVY:
                stage.run_due(everything=True)
            return self._fire(fault, chance)
        if stage.has_room_for_a_job:
            stage.submit(partial(self._fire, fault, random.Random(chance.random())))
            return True
        return False

    def _fire(self, fault: Fault, chance: random.Random) -> bool:
        since = fault.fire(self._stage, chance)
        if since is None:
            return False
        self.report.fired[fault.name] += 1
        self._stage.watch_from(fault.name, since)
        return True

    def _look_at_node(self) -> int:
        """What it says of itself; 1 where it is down by itself."""
        stage = self._stage
        stage.node.log.look()
        if stage.node.log.looping:
            raise Aborted("crash-loop", f"{stage.node.log.looping}: {stage.node.log.deaths[-1:]}")
        for client in stage.everyone:
            if client.failure and not client.stopping.is_set():
                raise Aborted("client", client.failure)
        assert stage.node.process is not None
        code = stage.node.process.poll()
        if code is None:
            return 0
        self._blame("node-died", f"the node ended by itself with {code}: {stage.node.log.last_error}")
        stage.kill_tree()
        stage.node.start()
        return 1

    # The end

    def _settle(self) -> None:
        """No faults any more: everything that was begun comes to its end."""
        stage = self._stage
        stage.run_due(everything=True)
        if not stage.drain():
            self._blame("campaign", "a fault did not come to its end")
        stage.proxy.cut_next([])
        deadline = time.monotonic() + QUIET_S
        while stage.prober.watches and time.monotonic() < deadline:
            stage.sleep(0.02)
        for watch in stage.prober.watches:
            self._blame("not-served", f"after {watch.fault}: partitions {sorted(watch.left)}")
        for client in (*stage.churned, *stage.trimmed):
            while client.is_at_a_job and time.monotonic() < deadline:
                stage.sleep(0.02)
            if client.is_at_a_job:
                self._blame("not-served", f"{client.topic} can't be deleted and created")
                self._unread.add(client.topic)
        producers = [*self._producers, *self._transactions.producers]
        for client in (*stage.churned, *stage.trimmed, *producers, self._keys, stage.prober):
            client.stopping.set()
        for client in (*stage.churned, *stage.trimmed, *producers, self._keys, stage.prober):
            client.stop()
        with raw_client(lambda: stage.node.port) as raw:
            ends = {p: until(lambda p=p: raw.offset(STABLE, p, LATEST), DEADLINE_S) for p in range(PARTITIONS)}  # type: ignore[misc]
        deadline = time.monotonic() + QUIET_S
        for tail in self._tails:
            while any(tail.positions[p] < end for p, end in ends.items()) and time.monotonic() < deadline:
                stage.sleep(0.02)
            if any(tail.positions[p] < end for p, end in ends.items()):
                self._blame("unseen", f"{tail.name} stands at {tail.positions}, the ends are {ends}")
            tail.stop()
        self._member.stop()
        for client in stage.everyone:
            if client.failure:
                self._blame("client", client.failure)
            if client.refused:  # confluent-kafka heard so, of a topic that is there all the time
                self._blame("topic-unknown", f"{client.name} was told so {client.refused} times")
            if client.unknown_partitions:
                self._blame(
                    "topic-unknown", f"{client.name} was told of fewer partitions {client.unknown_partitions} times"
                )
            for name, count in client.errors.items():
                self._blame("not-delivered", f"{count} records of {client.name}: {name}")

    def _judge(self) -> None:
        stage, node, history = self._stage, self._stage.node, self._stage.history
        anomalies = self.report.anomalies
        anomalies += self._transactions.judge()
        topics = [(STABLE, 0, PARTITIONS), (TRANSACTED, 0, TRANSACTED_PARTITIONS), (COPIED, 0, PARTITIONS)]
        clients = [c for c in (*stage.trimmed, *stage.churned, *stage.resting) if c.topic not in self._unread]
        topics += [(client.topic, client.generation, client.partitions) for client in clients]
        for topic, generation, partitions in topics:
            anomalies += read_topic(node, history, topic, generation, partitions)
        anomalies += read_groups(node, history, clients)
        anomalies += judge(history.operations)
        anomalies += judge_checkpoints(history.operations, node.settings)
        anomalies += judge_keys(self._keys.writes, read_keys(node, KEYED, 2))
        anomalies += look_at_orphans(node, stage.orphans)
        anomalies += stage.anomalies
        node.log.look()
        anomalies += [Anomaly("died", death) for death in node.log.deaths]
        anomalies += [Anomaly("traceback", text) for text in dict.fromkeys(node.log.tracebacks)]
        self._count()

    def _count(self) -> None:
        stage, report = self._stage, self.report
        for one in stage.history.operations:
            outcome = getattr(one, "outcome", None)
            name = type(one).__name__.lower()
            report.operations[f"{name} {outcome.value}" if outcome is not None else name] += 1
        report.operations["key write ok"] = self._keys.acknowledged
        report.operations["key write unknown"] = len(self._keys.writes) - self._keys.acknowledged
        report.acknowledged = self._keys.acknowledged + sum(
            len(one.values) for one in stage.history.operations if isinstance(one, Send) and one.outcome is Outcome.OK
        )
        report.times_s = {name: list(times) for name, times in stage.prober.times_s.items()}
        report.notes = stage.notes + self._transactions.notes()
        report.notes["new epochs of producers"] += sum(one.new_epochs() for one in self._producers)

    def _finish(self) -> None:
        """The machine crash in some rounds; a clean stop; what is left."""
        node, chance = self._stage.node, self._chance
        if not self._is_private and chance.random() < 0.5:
            anomalies, pages = machine_crash.crash_machine(node, STABLE, PARTITIONS, chance, chance.randint(0, 2))
            self.report.anomalies += anomalies
            self.report.notes["machine crashes"] += 1
            self.report.notes["pages lost in machine crashes"] += pages
        else:
            code = node.stop()
            if code:
                self._blame("exit-code", f"the last SIGTERM ended with {code}")
            self.report.anomalies += verify_logs(node)
        if left := left_in_shm(node):
            self._blame("left-in-shm", f"{left[:3]} ({len(left)} in all)")

    def _abandon(self) -> None:
        """However the round ended: nobody goes on."""
        self._stage.run_due(everything=True)
        self._stage.close()
        for client in self._stage.everyone:
            client.stopping.set()


def _end_node(node: Node) -> None:
    if node.process is not None and node.process.poll() is None:
        node.stop()
