"""Apache Kafka and a node with the same records, and one Spark session with both sources: for all tests of the folder."""

import os
import uuid

import pytest

from tests.spark_peer import topics
from tests.spark_peer.sides import NODE_SETTINGS, SETTINGS, Pair, Side
from tests.support.spark_python import JVM, python_of

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """With the connector's jars on its class path: not the session of another folder's tests."""
    from pyspark.sql import SparkSession

    from bench.peers import jars
    from headrace.spark import register

    os.environ["PYSPARK_PYTHON"] = str(python_of(tmp_path_factory.mktemp("python")))
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(map(str, jars("connector"))))
        .config("spark.driver.extraJavaOptions", JVM)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKS)
        .getOrCreate()
    )
    register(session)
    yield session
    session.stop()


ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"  # transformWithState asks for it


@pytest.fixture(scope="session")
def pair(spark, tmp_path_factory):
    """Both sides, with the records of `topics.py`."""
    from bench.nodes import Headrace, Kafka

    directory = tmp_path_factory.mktemp("sides")
    servers = {
        "kafka": Kafka(directory / "kafka", SETTINGS),
        "headrace": Headrace(directory / "headrace", NODE_SETTINGS),
    }
    try:
        for server in servers.values():
            server.start()
        sides = {name: Side(spark, name, server.bootstrap, directory / name) for name, server in servers.items()}
        made = Pair(sides, servers)
        topics.fill(made)
        yield made
    finally:
        for server in servers.values():
            server.stop()


@pytest.fixture
def topic():
    """A name that no other test has."""
    return f"t-{uuid.uuid4().hex[:8]}"
