"""What Spark starts as its Python daemon, if `spark.python.daemon.module` is `headrace.cli.spark_daemon`: it forks every Python worker.
In place of PySpark's own daemon `spark_python.py` starts it for the planning of our data source.

Runs in: a process of its own on each executor, with the name of the worker's module as its argument. PySpark's own daemon forks bare
interpreters: each worker imports PySpark out of `pyspark.zip`, where nothing is compiled, then pyarrow and this package. Here this is
done once, before the first fork, and from the installed PySpark where it is the one in the zip. Workers, also those of other users'
functions, begin in some 50 ms.

What is imported starts two threads that sleep (OpenBLAS, Arrow's allocator), and whose libraries take care of a fork. The standard
output is Spark's: nothing may be printed.

Source: `pyspark.daemon`, Spark's `PythonWorkerFactory`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import re
import sys
import zipfile
from collections.abc import MutableSequence
from pathlib import Path

_VERSION = re.compile(r'^__version__[^=]*= *["\']([^"\']+)', re.MULTILINE)
WITHIN_ZIP = "pyspark/version.py"
TASKS = "pyspark.worker"
PROCESS_NAME_BYTES = 15  # of a Linux process


def prefer_installed(path: MutableSequence[str]) -> None:
    """Move Spark's zips after the installed PySpark, if that is of the same version: its modules are compiled.

    path   `sys.path`, in which Spark puts its zips first
    """
    zips = [entry for entry in path if entry.endswith(".zip") and Path(entry).name.startswith(("pyspark", "py4j"))]
    inside = next((entry for entry in zips if Path(entry).name == "pyspark.zip"), None)
    if inside is None:
        return
    installed = next((one for one in path if one not in zips and (Path(one) / WITHIN_ZIP).is_file()), None)
    if installed is None or not (Path(installed) / "py4j").is_dir():
        return
    try:
        with zipfile.ZipFile(inside) as file:
            theirs = _version_of(file.read(WITHIN_ZIP).decode())
        ours = _version_of((Path(installed) / WITHIN_ZIP).read_text())
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return
    if ours and ours == theirs:
        for entry in zips:
            path.remove(entry)
            path.append(entry)


def _version_of(text: str) -> str:
    found = _VERSION.search(text)
    return found[1] if found else ""


def preload(worker_module: str) -> None:
    """Import what workers need. A module that is missing is missed in the worker, which tells."""
    with contextlib.suppress(ImportError):
        importlib.import_module(worker_module if worker_module.startswith("pyspark") else "pyspark.worker")
        importlib.import_module("headrace.spark.scan")
        importlib.import_module("headrace.spark.decoding")
        importlib.import_module("headrace.arrow.ranges")
        importlib.import_module("headrace.spark.datasource")
    gc.collect()
    gc.freeze()  # the workers' collections leave these pages shared


def main() -> None:
    """Never returns; ends with Spark."""
    prefer_installed(sys.path)
    with contextlib.redirect_stdout(sys.stderr):
        preload(sys.argv[1] if len(sys.argv) > 1 else "")
    manage()


def manage() -> None:
    """PySpark's own loop. The processes are called what they do: the command line is often the fork server's. Never returns."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(name_of(sys.argv[1] if len(sys.argv) > 1 else ""))
    importlib.import_module("pyspark.daemon").manager()


def name_of(worker_module: str) -> str:
    """Of a daemon and its workers, as the kernel cuts it: "pyspark.worker" of those of tasks, of planning the step's name."""
    name = worker_module.removeprefix("pyspark.sql.worker.") or TASKS
    return name[:PROCESS_NAME_BYTES]


if __name__ == "__main__":
    main()
