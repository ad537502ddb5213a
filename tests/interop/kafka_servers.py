"""Apache Kafka of one release as a single server on loopback: with a ZooKeeper as `headrace dev` has it, or KRaft from 4.0 on.

    with serve("kafka-0.10.2", directory) as bootstrap: ...

The jars come from Maven by the profile's name (bench/peers.py).
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench.peers import jars
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from tests.support import children

RELEASES = ("kafka-0.10.2", "kafka-0.11", "kafka-2.8", "kafka", "kafka-4.1")  # `kafka` is 3.9
READY_S = 90
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
_LOG4J = """
log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c %m%n
"""
_SMALL = {
    "num.network.threads": "2",
    "num.io.threads": "4",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "auto.create.topics.enable": "false",
    "log.cleaner.dedupe.buffer.size": "2000000",
}
_LATER = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
}


@contextlib.contextmanager
def serve(profile: str, directory: Path) -> Iterator[str]:
    """The bootstrap server, once it answers; ended with the block."""
    directory.mkdir(parents=True, exist_ok=True)
    if profile == "kafka-4.1":
        with _process(profile, directory, _kraft(directory)) as bootstrap:
            yield bootstrap
        return
    zookeeper = EmbeddedZooKeeper(directory / "zookeeper")
    zookeeper.start()
    try:
        settings = {"broker.id": "0", "zookeeper.connect": zookeeper.connect, **_SMALL}
        if profile != "kafka-0.10.2":
            settings |= _LATER
        with _process(profile, directory, settings) as bootstrap:
            yield bootstrap
    finally:
        zookeeper.stop()


def _kraft(directory: Path) -> dict[str, str]:
    port = _free_port()
    return {
        "process.roles": "broker,controller",
        "node.id": "0",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "controller_port": str(port),
        **_SMALL,
        **_LATER,
    }


@contextlib.contextmanager
def _process(profile: str, directory: Path, settings: dict[str, str]) -> Iterator[str]:
    port = _free_port()
    listeners = f"PLAINTEXT://127.0.0.1:{port}"
    controller_port = settings.pop("controller_port", None)
    given = {
        **settings,
        "listeners": listeners if controller_port is None else f"{listeners},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": listeners,
        "log.dirs": str(directory / "logs"),
    }
    properties = directory / "server.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
    log4j = directory / "log4j.properties"
    log4j.write_text(_LOG4J)
    java = [
        "java", "-Xmx256m", "-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={directory}", f"-Dlog4j.configuration=file:{log4j}", "-cp",
        ":".join(map(str, jars(profile))),
    ]  # fmt: skip
    if controller_port is not None:
        command = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties), "--standalone"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=READY_S)
        assert done.returncode == 0, done.stdout + done.stderr
    with open(directory / "broker.log", "ab") as log:
        process = children.start([*java, "kafka.Kafka", str(properties)], stdout=log, stderr=log)
    try:
        _wait_until_serving(port, process, directory / "broker.log")
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_serving(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-3000:]
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise AssertionError(f"no server within {READY_S} s: {log.read_text()[-3000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
