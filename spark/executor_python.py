"""The interpreter of Spark's Python workers: it must have this package installed.

Runs in: Spark's driver. PySpark takes PYSPARK_PYTHON, or, if unset, the first `python3` of PATH, which is not the virtual
environment that `.venv/bin/python job.py` runs in. If it is set, or with `spark-submit`, nothing is changed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

VARIABLE = "PYSPARK_PYTHON"
GATEWAY = "PYSPARK_GATEWAY_PORT"  # set by spark-submit, which has its own ways to name the interpreter
CHECK_DEADLINE_S = 30


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
    context = getattr(spark, "sparkContext", None) if hasattr(spark, "_jsparkSession") else None
    if context is None or not str(context.master).startswith("local"):
        return
    python = str(context.pythonExec)
    found = shutil.which(python)
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return
    if found is None or not has_package(found):
        raise RuntimeError(
            f"this session's Python workers run {python}, which has no headrace: set {VARIABLE}={sys.executable} before the "
            "session is made, or import headrace.spark before it, which does so"
        )


def has_package(python: str) -> bool:
    """Whether an interpreter can import this package."""
    command = "import importlib.util as u, sys; sys.exit(u.find_spec('headrace') is None)"
    try:
        done = subprocess.run([python, "-c", command], capture_output=True, timeout=CHECK_DEADLINE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
