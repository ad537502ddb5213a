"""A process that ends when it is asked to, and one that does not."""

import signal
import subprocess
import sys

import pytest

from headrace.node.termination import terminate

pytestmark = pytest.mark.process

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
POLITE = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(3)); print('polite', flush=True); time.sleep(60)"


def started(program):
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    process.stdout.readline()  # its handler is set
    return process


def test_who_ends_in_time_is_not_killed():
    with started(POLITE) as process:
        assert terminate(process, 30.0) == 3


def test_who_does_not_listen_is_killed():
    with started(DEAF) as process:
        assert terminate(process, 0.05) == -signal.SIGKILL


def test_who_is_gone_already_has_its_own_exit_code():
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(5)"]) as process:
        process.wait()
        assert terminate(process, 1.0) == 5
