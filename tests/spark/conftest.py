"""A log directory, a broker that serves it, and one Spark session for all tests of the folder."""

import os
import sys

import pytest

from tests.support.file_log_fixtures import broker, log, remote_broker

__all__ = ["broker", "log", "remote_broker"]

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    from headrace.spark import register

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.python.daemon.module", "headrace.cli.spark_daemon")
        .getOrCreate()
    )
    register(session)
    yield session
    session.stop()
