"""A cluster in one process: nodes, their ZooKeeper and clients, stepped by one scheduler that draws every choice from one seed.

    with Cluster(seed, nodes=3) as cluster:
        cluster.boot()                       nodes serve, the topic is there
        cluster.run(10_000)                  ten seconds of simulated time, or until something holds
        cluster.finish()                     faults end, everything has to be well within a minute; what was read is judged

One step: what is due happens (bytes arrive, timers), then one of those that can run, by lot, takes its turn: a cycle of a process, half of
its sleep, a turn of a supervisor, a request of a client. Each step takes a little time, by lot. Where nobody can run, time passes to what
comes next.
"""

import gc
import logging
import shutil
import tempfile
from pathlib import Path

from headrace.node.local_cluster import SMALL
from headrace.shm.wiring import Role
from tests.simulation.ensemble import HOST as ZOOKEEPER
from tests.simulation.ensemble import Ensemble
from tests.simulation.faults import Faults
from tests.simulation.history import History
from tests.simulation.judges import Judges
from tests.simulation.kernel import MS, Kernel
from tests.simulation.load import Consumer, Creator, Finisher, IdempotentProducer, Producer
from tests.simulation.machine import Machine
from tests.simulation.network import CLIENT_HOST, Network
from tests.simulation.node import PORT, Node
from tests.simulation.stand_ins import Installed

TOPIC = "log"
BOOT_MS_MAX = 60_000
WELL_MS_MAX = 60_000  # from the end of the faults until all is well
QUIET = {
    "log.retention.ms": "-1",
    "log.retention.check.interval.ms": "3600000",
    "log.segment.bytes": "16384",
    "headrace.shm.bytes.max": str(64 << 20),
    "headrace.partitions.max": "64",
    "headrace.cluster.partitions.max": "64",
    "headrace.request.ring.bytes": str(256 << 10),
    "headrace.receive.arena.bytes": str(256 << 10),
    "headrace.lag.rows.max": "16",
    "message.max.bytes": "16384",
    "replica.lag.time.max.ms": "3000",
    "zookeeper.session.timeout.ms": "6000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "log.flush.offset.checkpoint.interval.ms": "2000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "log.flush.start.offset.checkpoint.interval.ms": "2000",
    "auto.create.topics.enable": "false",
}


class Cluster:
    """nodes        how many
    partitions   of the topic
    settings     of each node, over those here
    configs      of the topic
    keep         whether the story is kept
    """

    def __init__(self, seed, nodes=3, partitions=2, settings=None, configs=None, keep=False):
        self.kernel = Kernel(seed, keep)
        self.network = self.kernel.network = Network(self.kernel)
        self.kernel.cluster = self
        self.factor = min(3, nodes)
        self.partitions = partitions
        self.configs = {"min.insync.replicas": str(max(1, self.factor - 1)), **(configs or {})}
        self.client_host = CLIENT_HOST
        self.history = History(self.kernel)
        self.is_ending = False  # producers stop
        self.is_over = False
        self.judges = Judges(self)
        self.faults = None
        self._given = settings or {}
        self._count = nodes
        self.nodes = []
        self.clients = []

    def __enter__(self):
        self._directory = Path(tempfile.mkdtemp(prefix="simulation-"))
        self._installed = Installed(self.kernel)
        self._installed.__enter__()
        gc.collect()
        gc.freeze()
        self._log = _StoryLog(self.kernel)
        self._logger = logging.getLogger("headrace")
        self._was = (self._logger.level, self._logger.propagate)
        self._logger.addHandler(self._log)
        self._logger.setLevel(logging.INFO if self.kernel._keep else logging.WARNING)
        self._logger.propagate = False
        self.ensemble = self.kernel.ensemble = Ensemble(self.kernel)
        for node_id in range(self._count):
            machine = Machine(self.kernel, f"10.0.0.{node_id + 1}", self._directory / f"node-{node_id}")
            self.nodes.append(Node(self, node_id, machine, self._settings(node_id, machine)))
        return self

    def __exit__(self, *_failure):
        for node in self.nodes:
            if node.is_up:
                node.kill()
            node.machine.close()
        self.clients.clear()
        self.kernel.close()
        gc.collect()  # what dead processes had open is closed by its objects, as long as these find our stand-ins
        self._logger.removeHandler(self._log)
        self._logger.setLevel(self._was[0])
        self._logger.propagate = self._was[1]
        self._installed.__exit__()
        gc.unfreeze()
        gc.collect()
        shutil.rmtree(self._directory)

    def _settings(self, node_id, machine):
        return {
            **SMALL,
            **QUIET,
            "broker.id": str(node_id),
            "listeners": f"PLAINTEXT://{machine.host}:{PORT}",
            "log.dirs": str(machine.directory),
            "zookeeper.connect": f"{ZOOKEEPER}:2181",
            "headrace.testing.zookeeper": "true",
            "offsets.topic.replication.factor": str(self.factor),
            **self._given,
        }

    @property
    def hosts(self):
        return [node.machine.host for node in self.nodes]

    # The scheduler

    def run(self, span_ms, is_done=lambda: False):
        """Let time pass, until something holds; whether it does."""
        kernel, chance = self.kernel, self.kernel.chance
        end_ns = kernel.now_ns + span_ms * MS
        while not is_done():
            if kernel.now_ns >= end_ns:
                return False
            kernel.run_due()
            now_ns = kernel.now_ns
            actors = self.actors()
            runnable = [one for one in actors if one.is_runnable(now_ns)]
            if runnable:
                kernel.steps += 1
                actor = runnable[chance.randrange(len(runnable))]
                actor.step()
                self.judges.after_step(actor)
                kernel.now_ns += chance.randrange(10_000, 120_000)
                continue
            next_ns = min((one.due_ns for one in actors), default=end_ns)
            if kernel.next_ns is not None:
                next_ns = min(next_ns, kernel.next_ns)
            kernel.now_ns = max(now_ns + 1_000, min(next_ns, end_ns))
        return True

    def actors(self):
        """Whoever takes steps, in an order that no address decides."""
        found = []
        for node in self.nodes:
            if node.supervisor is not None and not node.is_stopping:
                found.append(node)
            found += node.machine.processes
        found += [client for client in self.clients if not client.is_over]
        return found

    # A run

    def boot(self):
        """Nodes serve, and the topic is there."""
        for node in self.nodes:
            node.start()
        if not self.run(BOOT_MS_MAX, lambda: all(node.is_serving for node in self.nodes)):
            self.kernel.anomaly(f"not serving: {[node.node_id for node in self.nodes if not node.is_serving]}")
            return
        creator = Creator(self, "creator", TOPIC, self.partitions, self.factor, self.configs)
        self.clients.append(creator)
        if not self.run(BOOT_MS_MAX, lambda: creator.is_over):
            self.kernel.anomaly("the topic was not created")

    def add_load(self, producers=1, idempotent=1):
        for index in range(producers):
            self.clients.append(Producer(self, f"raw{index}", TOPIC, self.partitions))
        for index in range(idempotent):
            self.clients.append(IdempotentProducer(self, f"idem{index}", TOPIC, self.partitions))
        for partition in range(self.partitions):
            self.clients.append(Consumer(self, f"reader{partition}", TOPIC, partition))

    @property
    def is_synced(self):
        """Whether the topic is synced before each answer."""
        return self.configs.get("headrace.flush.before.ack") == "true"

    def run_faults(self, plan, span_ms):
        """The load goes on for so long, and what is planned goes wrong."""
        self.faults = Faults(self, plan)
        self.faults.begin()
        self.run(span_ms, lambda: bool(self.kernel.anomalies))
        self.faults.end()

    def finish(self):
        """Faults have ended: all has to be well soon, and everything is there."""
        self.kernel.note("cluster", "faults are over")
        self.is_ending = True
        finisher = Finisher(self, "finisher", TOPIC, self.partitions, self.factor)
        self.clients.append(finisher)
        if not self.run(WELL_MS_MAX, lambda: finisher.is_over):
            self.kernel.anomaly(f"not well within a minute: {finisher.state}")
            return
        self.is_over = True
        self.history.judge(finisher.final)

    def role(self, node, role):
        """The object of a role that runs on a node, or None."""
        process = node.process(role)
        return None if process is None else process.process

    def partition_workers(self):
        """(node, PartitionWorker) of those that run."""
        found = []
        for node in self.nodes:
            for process in node.machine.processes:
                if process.role is Role.PARTITION and process.process is not None:
                    found.append((node, process.process))
        return found


class _StoryLog(logging.Handler):
    """What processes log is in the story; a traceback is an anomaly."""

    def __init__(self, kernel):
        super().__init__()
        self._kernel = kernel

    def emit(self, record):
        process = self._kernel.running
        who = "-" if process is None else process.name
        text = record.getMessage()
        self._kernel.tell(f"{who:<14} {record.levelname} {text}")
        if record.exc_info:
            self._kernel.anomaly(f"{who} logged a traceback: {text}\n{self.format(record)}")
