"""What else a host needs so that tasks run where the files are: names that agree, an interpreter, the record kernel.

Runs in: `headrace spark doctor`. Each check is a sentence, and whether all is well.

Source: Spark `Utils.localHostName`, `findLocalInetAddress`: what an executor calls its host.
"""

from __future__ import annotations

import importlib.metadata
import ipaddress
import shutil
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from headrace import compiled_kernel
from headrace.spark.executor_python import VARIABLE, has_package

HOST_VARIABLE = "SPARK_LOCAL_HOSTNAME"
ADDRESS_VARIABLE = "SPARK_LOCAL_IP"


class Check(NamedTuple):
    """is_good   False: tasks run elsewhere, fail, or are slow"""

    is_good: bool
    said: str


def check_host(brokers_here: Iterable[str], environment: Mapping[str, str]) -> list[Check]:
    """All of them.

    brokers_here   the host names that brokers with directories on this host advertise
    """
    return [*_names(sorted(set(brokers_here)), environment), _interpreter(environment), _pyspark(), _walker()]


def executor_host(environment: Mapping[str, str]) -> str:
    """What executors that start here call this host, unless their cluster manager has another name for it."""
    given = environment.get(HOST_VARIABLE) or environment.get(ADDRESS_VARIABLE)
    if given:
        return given
    try:
        found = socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
    return _outward_address() or found if ipaddress.ip_address(found).is_loopback else found


def _outward_address() -> str:
    """An address of this host that is not loopback, if there is a route to anywhere; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))  # set aside for documentation: RFC 5737
            return str(sock.getsockname()[0])
        except OSError:
            return ""


def _names(advertised: list[str], environment: Mapping[str, str]) -> list[Check]:
    host = executor_host(environment)
    if not advertised:
        return []
    if host in advertised:
        return [Check(True, f"executors call this host {host}, like its broker: tasks can be placed here")]
    return [
        Check(
            False,
            f"executors call this host {host}, but its broker advertises {', '.join(advertised)}: Spark can't place tasks here; "
            f"set {HOST_VARIABLE}={advertised[0]} for executors (standalone: the worker's environment)",
        )
    ]


def _interpreter(environment: Mapping[str, str]) -> Check:
    python = environment.get(VARIABLE) or "python3"
    found = shutil.which(python, path=environment.get("PATH"))
    if found is None:
        return Check(False, f"Python workers would run {python}, which does not exist: set {VARIABLE}")
    if Path(found).parent == Path(sys.executable).parent or has_package(found):
        return Check(True, f"Python workers run {found}, which has headrace")
    return Check(False, f"Python workers run {found}, which does not have headrace: set {VARIABLE}={sys.executable}")


def _pyspark() -> Check:
    try:
        return Check(True, f"pyspark {importlib.metadata.version('pyspark')}")
    except importlib.metadata.PackageNotFoundError:
        return Check(False, "pyspark is not installed for this interpreter: pip install 'headrace[spark]'")


def _walker() -> Check:
    said = compiled_kernel.describe()
    if compiled_kernel.KERNEL is not None:
        return Check(True, f"{said}: records are decoded in C")
    return Check(
        False, f"{said}: records are decoded in pure Python, about 30 times slower: install a wheel, or a C compiler"
    )
