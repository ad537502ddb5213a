"""MirrorMaker 2 of Apache Kafka 3.9 as a process, in its dedicated mode: the peer of `headrace mirror`.

Topics keep their names (IdentityReplicationPolicy), as ours do. Heartbeats and ACLs are off: ours has neither. Checkpoints of groups
are on.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench.nodes import KAFKA_JVM, STOP_DEADLINE_S
from bench.peers import jars
from headrace.node.termination import terminate

SETTINGS = """\
clusters=source,target
source.bootstrap.servers={source}
target.bootstrap.servers={target}
source->target.enabled=true
target->source.enabled=false
source->target.topics={topics}
replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy
replication.factor=1
checkpoints.topic.replication.factor=1
heartbeats.topic.replication.factor=1
offset-syncs.topic.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
config.storage.replication.factor=1
emit.heartbeats.enabled=false
sync.topic.acls.enabled=false
refresh.topics.interval.seconds=5
tasks.max={tasks}
target.producer.compression.type={codec}
"""


class MirrorMaker:
    """Started and stopped by pid."""

    def __init__(self, directory: Path, source: str, target: str, topics: str, tasks: int, codec: str) -> None:
        self._directory = directory
        self._settings = SETTINGS.format(source=source, target=target, topics=topics, tasks=tasks, codec=codec)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> Path:
        return self._directory / "mirror-maker.log"

    def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        properties = self._directory / "mirror-maker.properties"
        properties.write_text(self._settings)
        logging = self._directory / "log4j.properties"
        logging.write_text(
            "log4j.rootLogger=WARN, stdout\nlog4j.appender.stdout=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.stdout.layout=org.apache.log4j.PatternLayout\n"
            "log4j.appender.stdout.layout.ConversionPattern=%d %p %m%n\n"
        )
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                ["java", *KAFKA_JVM, f"-Djava.io.tmpdir={self._directory}", f"-Dlog4j.configuration=file:{logging}",
                 "-cp", ":".join(map(str, jars("mirror-maker"))), "org.apache.kafka.connect.mirror.MirrorMaker",
                 str(properties)],
                stdout=log, stderr=log,
            )  # fmt: skip

    def check(self) -> None:
        """raises   SystemExit, where it has ended"""
        if self._process is None or self._process.poll() is not None:
            raise SystemExit(f"MirrorMaker ended: {self.log.read_text()[-2000:]}")

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            terminate(process, STOP_DEADLINE_S)
