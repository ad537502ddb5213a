"""The keeper, as the test process sees it: started when it is first needed, one command at a time.

Runs in: the test process, in any of its threads. A fork of the test process (pytest-xdist, multiprocessing) starts a keeper of its own:
one that it inherited would end with the first of the two.

    Keeper of this process  <-  lines of JSON  ->  testing/keeper.py
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from typing import IO, Any, Final

from headrace.errors import HeadraceError
from headrace.limits import TESTING_ANSWER_MS_MAX, TESTING_COMMAND_BYTES_MAX, TESTING_NODE_STOP_MS_MAX

COMMAND: Final = ("-m", "headrace.testing.keeper")


class TestingFailed(HeadraceError):
    """A node could not be started, or did not do in time what a test waits for; the message says which and why."""

    __test__ = False  # not a test, whatever pytest makes of its name


class KeeperClient:
    """The keeper of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._is_ready = False
        self._pid = os.getpid()

    @property
    def is_of_this_process(self) -> bool:
        return self._pid == os.getpid()

    @property
    def pid(self) -> int:
        """raises   TestingFailed, where it does not run"""
        if self._process is None:
            raise TestingFailed("the keeper of the nodes is not running")
        return self._process.pid

    def begin(self) -> None:
        """Start it, without waiting: its imports take place beside what the test process does."""
        with self._lock:
            self._begin()

    def ask(self, **command: Any) -> dict[str, Any]:
        """raises   TestingFailed"""
        with self._lock:
            self._begin()
            if not self._is_ready:
                self._answer()  # that it is
                self._is_ready = True
            self._pipe("stdin").write(json.dumps(command).encode() + b"\n")
            answer = self._answer()
        if "error" in answer:
            raise TestingFailed(answer["error"])
        return answer

    def end(self) -> None:
        """End it, and all nodes with it. Twice is fine."""
        with self._lock:
            process, self._process = self._process, None
            if process is None or not self.is_of_this_process:
                return
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            try:
                process.wait(TESTING_NODE_STOP_MS_MAX / 1000)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()

    def _begin(self) -> None:
        if self._process is not None:
            return
        self._is_ready = False
        self._unread = b""
        self._process = subprocess.Popen(
            [sys.executable, *COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C ends the tests, and these the keeper
        )

    def _answer(self) -> dict[str, Any]:
        """raises   TestingFailed, where it ended or is silent"""
        output, deadline = self._pipe("stdout"), time.monotonic() + TESTING_ANSWER_MS_MAX / 1000
        while b"\n" not in self._unread:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([output], [], [], left_s)[0]:
                raise TestingFailed(f"the keeper of the nodes did not answer within {TESTING_ANSWER_MS_MAX} ms")
            data = output.read(TESTING_COMMAND_BYTES_MAX)
            if not data:
                raise TestingFailed("the keeper of the nodes has exited, see its standard error")
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _pipe(self, name: str) -> IO[bytes]:
        pipe: IO[bytes] = getattr(self._process, name)
        return pipe


_client: KeeperClient | None = None


def keeper() -> KeeperClient:
    """The one of this process."""
    global _client
    if _client is None or not _client.is_of_this_process:
        _client = KeeperClient()
        atexit.register(_client.end)
    return _client
