"""Fails a test that starts a process without saying so by the marker `process`.

`make test-quick` runs the tests without that marker, so each must do its work inside the tests' own process. Python reports each fork and
each program that is about to start as an audit event. The watch refuses the event while such a test runs, so nothing is started.

    install()        once for each process of the tests; an audit hook can't be removed
    watch(nodeid)    from the setup of a test to the end of its call; None for a test that may start processes
    complaint()      what was refused since; also where a thread or an `except BaseException` has swallowed the failure

Teardown is not watched: the last test that uses a shared fixture ends it, whichever test that is.

Source: PEP 578.
"""

import os
import sys

import pytest

STARTS = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"})
FOLDERS = (  # of tests/: nearly every test there runs whole nodes, workers or other programs
    "aio/",
    "e2e/",
    "foreign/",
    "interop/",
    "load/",
    "scenarios/",
    "spark_hosts/",
    "spark_peer/",
    "systemd/",
)


class ProcessWatch:
    def __init__(self):
        self._tests = os.getpid()
        self._nodeid = None
        self._refused = None

    def install(self):
        sys.addaudithook(self._hook)

    def watch(self, nodeid):
        self._nodeid = nodeid
        self._refused = None

    def complaint(self):
        """A sentence about the process that the watched test was about to start; None where there was none."""
        if self._refused is None:
            return None
        return f"{self._nodeid} starts a process ({self._refused}): mark it with pytest.mark.process"

    def _hook(self, event, arguments):
        if self._nodeid is None or event not in STARTS or os.getpid() != self._tests:
            return
        self._refused = f"{event} {arguments[0]}" if arguments else event
        pytest.fail(self.complaint())


WATCH = ProcessWatch()  # of this run; tests/conftest.py installs it
