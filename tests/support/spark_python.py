"""This interpreter, as a program for Spark that takes pyspark from where it is installed."""

import sys

JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"  # starts soon


def python_of(directory):
    """Write it into a directory; returns its path.

    Spark tells its Python processes to take pyspark from pyspark.zip, and each of them compiles what it imports from there. A stream
    starts several, which have ten seconds each, whatever the machine does beside.
    """
    program = directory / "python"
    program.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return program
