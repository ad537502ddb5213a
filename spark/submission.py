"""What `headrace spark submit` sets, where the user has not set it: `spark-submit`, its arguments, its environment.

    spark.python.unix.domain.socket.enabled        true: 20 to 37% between JVM and Python workers (Spark 4.1 and later)
    spark.python.unix.domain.socket.dir            /tmp: Spark's own, java.io.tmpdir, is too long for a socket's path on YARN
    spark.python.daemon.module                     headrace.cli.spark_daemon: workers are forked with their imports done
    spark.sql.execution.arrow.maxRecordsPerBatch   50000: best between 10,000 and 100,000
    spark.locality.wait                            10s: a read on the file's host is worth waiting for
    PYSPARK_PYTHON                                 this interpreter

What is given with --conf, in a --properties-file or in spark-defaults.conf stays as it is.

Runs in: the command itself, which becomes spark-submit.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.errors import ConfigError
from headrace.spark.executor_python import DAEMON, DAEMON_SETTING, VARIABLE

SETTINGS = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.unix.domain.socket.dir": "/tmp",
    DAEMON_SETTING: DAEMON,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.locality.wait": "10s",
}
PROGRAM = "spark-submit"


def submission(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The command and its environment.

    raises   ConfigError, where there is no spark-submit, or a file of properties can't be read
    """
    given = _given(arguments, environment)
    missing = [f"{key}={value}" for key, value in SETTINGS.items() if key not in given]
    command = [_program(environment), *(word for pair in missing for word in ("--conf", pair)), *arguments]
    return command, {**environment, VARIABLE: environment.get(VARIABLE) or sys.executable}


def _program(environment: Mapping[str, str]) -> str:
    """Of SPARK_HOME, beside this interpreter, or in PATH."""
    home = environment.get("SPARK_HOME")
    places = [Path(home) / "bin"] if home else [Path(sys.executable).parent]
    for place in places:
        if (place / PROGRAM).exists():
            return str(place / PROGRAM)
    found = shutil.which(PROGRAM, path=environment.get("PATH"))
    if found is None:
        raise ConfigError("SPARK_HOME", home or "", f"{PROGRAM} not found there, beside {sys.executable}, or in PATH")
    return found


def _given(arguments: Sequence[str], environment: Mapping[str, str]) -> set[str]:
    """Keys that the user has set."""
    keys = set()
    files = []
    words = iter(arguments)
    for word in words:
        name, is_joined, value = word.partition("=")
        if name in ("--conf", "-c", "--properties-file"):
            value = value if is_joined else next(words, "")
            if name == "--properties-file":
                files.append(Path(value))
            else:
                keys.add(value.partition("=")[0])
    if not files:
        home = environment.get("SPARK_HOME")
        conf = environment.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else "")
        files = [path for path in [Path(conf) / "spark-defaults.conf"] if conf and path.exists()]
    for path in files:
        keys |= _keys_in(path)
    return keys


def _keys_in(path: Path) -> set[str]:
    """Of a file in Java's properties format, as spark-submit reads it."""
    try:
        lines = [line.strip() for line in path.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as failure:
        raise ConfigError("--properties-file", str(path), str(failure)) from None
    return {line.replace("=", " ").replace(":", " ").split()[0] for line in lines if line and line[0] not in "#!"}
