"""Spark's own Delta and Iceberg, as a program that maintains tables: SQL in one JVM that stays.

The jars are of the Spark that both are made for (bench/peers/pom.xml, profile `tables`), and not of PySpark's.
"""

import base64
import contextlib
import json
import subprocess
import threading
from pathlib import Path

from bench.peers import jars
from tests.support import children

RUNNER = Path(__file__).parent / "SqlRunner.java"
STATEMENT_DEADLINE_S = 600
OPENED = (
    "java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect", "java.base/java.io", "java.base/java.net",
    "java.base/java.nio", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref", "java.base/sun.nio.ch", "java.base/sun.nio.cs", "java.base/sun.security.action",
    "java.base/sun.util.calendar",
)  # fmt: skip
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",  # tasks of a VACUUM: 10,000 else
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
}


class SqlFailed(AssertionError):
    """A statement that Spark refused; with its reasons."""


class SparkSql:
    """`run("select 1 as one")` -> [{"one": 1}]"""

    def __init__(self, folder):
        """folder   for what Spark leaves"""
        command = ["java", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={folder}"]
        command += [f"--add-opens={one}=ALL-UNNAMED" for one in OPENED]
        command += ["-cp", ":".join(map(str, jars("tables"))), str(RUNNER)]
        given = SETTINGS | {"spark.sql.warehouse.dir": f"{folder}/warehouse", "spark.local.dir": str(folder)}
        with open(folder / "stderr", "wb") as errors:
            self._process = children.start(
                [*command, *(f"{key}={value}" for key, value in given.items())],
                cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        self._folder = folder
        self._lock = threading.Lock()
        self._answer("the start")

    def run(self, statement):
        """raises   SqlFailed"""
        with self._lock:
            self._process.stdin.write(base64.b64encode(statement.encode()).decode() + "\n")
            self._process.stdin.flush()
            return self._answer(statement)

    def _answer(self, statement):
        watchdog = threading.Timer(STATEMENT_DEADLINE_S, self._process.kill)
        watchdog.start()
        rows = []
        try:
            for line in self._process.stdout:
                word, _, text = line.rstrip("\n").partition("\t")
                if word == "ROW":
                    rows.append(json.loads(base64.b64decode(text)))
                elif word == "DONE":
                    return rows
                else:
                    raise SqlFailed(f"{statement}: {base64.b64decode(text).decode()}")
        finally:
            watchdog.cancel()
        said = (self._folder / "stderr").read_bytes()[-3000:].decode(errors="replace")
        raise AssertionError(f"{statement} ended the JVM: {said}")

    def iceberg_catalog(self, name, database, warehouse):
        """Have the statements after this one know an Iceberg catalog that pyiceberg keeps in a database of SQLite."""
        catalog = f"spark.sql.catalog.{name}"
        self.run(f"SET `{catalog}`=`org.apache.iceberg.spark.SparkCatalog`")
        for key, value in {
            "type": "jdbc",
            "uri": f"jdbc:sqlite:{database}",
            "warehouse": warehouse,
            "cache-enabled": "false",
        }.items():
            self.run(f"SET `{catalog}.{key}`=`{value}`")

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        children.end(self._process)
