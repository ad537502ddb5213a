"""The interpreter of Spark's Python workers, which must have this package installed; the daemon that forks them, and that of planning.

Runs in: Spark's driver. PySpark takes PYSPARK_PYTHON, or, if unset, the first `python3` of PATH, which is not the virtual
environment that `.venv/bin/python job.py` runs in. If it is set, or with `spark-submit`, nothing is changed.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.spark.fork_server import fork_server

VARIABLE = "PYSPARK_PYTHON"
LAUNCHER, LAUNCH_MODULE = "headrace-python", "headrace.cli.spark_launch"
DAEMON_SETTING, DAEMON = "spark.python.daemon.module", "headrace.cli.spark_daemon"
GATEWAY = "PYSPARK_GATEWAY_PORT"  # set by spark-submit, which has its own ways to name the interpreter
CHECK_DEADLINE_S = 30

_log = logging.getLogger("headrace.spark")


def choose_python(environment: MutableMapping[str, str], executable: str) -> None:
    """Before a session exists: choose this interpreter for the workers, if PySpark would take another one."""
    if VARIABLE in environment or GATEWAY in environment or not executable:
        return
    found = shutil.which("python3", path=environment.get("PATH"))
    if found is None or Path(found).parent != Path(executable).parent:
        environment[VARIABLE] = executable


def check_python(spark: Any) -> None:
    """With a running session: check that its workers can import this package. Local sessions only.

    raises   RuntimeError, naming PYSPARK_PYTHON
    """
    context = _local_context(spark)
    if context is None:
        return
    python = str(context.pythonExec)
    found = shutil.which(python)
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return
    if found is None or not has_package(found):
        raise RuntimeError(
            f"this session's Python workers run {python}, which does not have headrace: set"
            f" {VARIABLE}={sys.executable} before the session is created, or import headrace.spark first, which sets it"
        )


def prepare_workers(spark: Any) -> None:
    """What every reader and writer does first with a session: `check_python`, `choose_daemon`. raises RuntimeError"""
    check_python(spark)
    choose_daemon(spark)


def choose_daemon(spark: Any) -> None:
    """Have the workers of a local session forked by our daemon, with their imports done, unless a daemon is named already.

    Spark reads the setting when it starts a daemon, from a configuration that local executors share with the driver. Those of a
    cluster have their own by now: `headrace spark submit` sets it for them.
    """
    settings = getattr(_local_context(spark), "_conf", None)  # the JVM's own, not a copy
    if settings is not None and not settings.contains(DAEMON_SETTING):
        settings.set(DAEMON_SETTING, DAEMON)


@contextmanager
def quick_planning(spark: Any) -> Iterator[None]:
    """A data source that is registered meanwhile is planned and read by processes with their imports done: in a local session.

    Its interpreter is a launcher in the session's own directory, which ends with it (`cli/spark_launch.py`). The processes are forked by
    a server that begins here, beside what Spark does first.
    """
    context = _local_context(spark)
    directory = getattr(context, "_temp_dir", None)
    own = getattr(context, "pythonExec", None)
    python = shutil.which(own) if own else None
    launcher = _launcher(Path(directory), python, _server(context, python)) if directory and python else None
    if launcher is None:
        yield
        return
    context.pythonExec = launcher
    try:
        yield
    finally:
        context.pythonExec = own


def _server(context: Any, python: str) -> str | None:
    """The name of the fork server, with the variables that Spark gives its workers; None where there can't be one."""
    environment = getattr(context, "environment", {})
    settings = getattr(context, "_conf", None)
    threads = settings.get("spark.executor.cores", "1") if settings is not None else "1"
    variables = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": threads, **os.environ, **environment}
    return fork_server(python, {name: str(variables[name]) for name in ("PYTHONHASHSEED", "OMP_NUM_THREADS")})


def _launcher(directory: Path, python: str, server: str | None) -> str | None:
    """The launcher's path; None where nothing can be run from there."""
    path = directory / LAUNCHER
    found = importlib.util.find_spec(LAUNCH_MODULE)
    if found is None or found.origin is None:
        return None
    command = [python, "-I", "-S", found.origin, server or "", python]
    try:
        path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        path.chmod(0o700)
    except OSError as failure:
        _log.info("the data source is planned by Spark's own processes: %s", failure)
        return None
    return str(path) if os.access(path, os.X_OK) else None


def _local_context(spark: Any) -> Any:
    """Of a session whose executors are threads of its driver; None for others, and for Spark Connect's."""
    context = getattr(spark, "sparkContext", None) if hasattr(spark, "_jsparkSession") else None
    return context if context is not None and str(context.master).startswith("local") else None


def has_package(python: str) -> bool:
    """Whether an interpreter can import this package."""
    command = "import importlib.util as u, sys; sys.exit(u.find_spec('headrace') is None)"
    try:
        done = subprocess.run([python, "-c", command], capture_output=True, timeout=CHECK_DEADLINE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
