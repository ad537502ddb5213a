"""The end of a process that was started by `subprocess`: asked first, then made.

Runs in: the parent (`headrace dev`, `headrace demo`, benches).
"""

from __future__ import annotations

import signal
import subprocess


def terminate(process: subprocess.Popen[bytes] | subprocess.Popen[str], deadline_s: float) -> int:
    """SIGTERM, and SIGKILL where it has not ended in time; returns its exit code."""
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(deadline_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
