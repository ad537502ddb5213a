"""What the Python of `.format("headrace")` in a local Spark is where a daemon can't be forked: this interpreter, with PySpark's daemon
replaced by ours.

    spark_launch.py -m pyspark.daemon pyspark.sql.worker.plan_data_source_read  ->  python -m headrace.cli.spark_python, the same arguments

Spark has a setting for the daemon of its workers, and none for those in which it plans a data source: a daemon for each step, and in each
PySpark is imported out of its zip again. The interpreter belongs to the data source, so `headrace.spark.register` names the launcher
that `spark/executor_python.py` writes.

Runs in: a process of its own beside the driver. Source: Spark's `PythonPlannerRunner`, `PythonWorkerFactory`.
"""

from __future__ import annotations

import os
import runpy
import sys

from headrace.cli import spark_daemon

SPARKS_DAEMON = "pyspark.daemon"


def main() -> None:
    """Run a module as `python -m` does; anything else is left to the interpreter."""
    arguments = sys.argv[1:]
    if len(arguments) < 2 or arguments[0] != "-m":
        os.execv(sys.executable, [sys.executable, *arguments])
    module, *rest = arguments[1:]
    sys.argv = [module, *rest]
    if module in (SPARKS_DAEMON, spark_daemon.__name__):
        spark_daemon.main()
        return
    spark_daemon.prefer_installed(sys.path)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
