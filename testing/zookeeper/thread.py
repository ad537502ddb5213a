"""The server in a thread of the process that wants it: for tests of clients.

    with ServerThread() as server:
        KazooClient(hosts=server.connect)

Source: none; `server.py` says what runs.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from headrace.limits import TESTING_SESSION_TICKS_MAX
from headrace.testing.zookeeper.server import TICK_MS, Server, listen

HOST: Final = "127.0.0.1"


class ServerThread:
    """One server, from `start` to `stop`; started again it is on the same port.

    journal   a file; with it, what the server had outlives a stop
    """

    def __init__(
        self,
        journal: Path | None = None,
        port: int = 0,
        tick_ms: int = TICK_MS,
        ticks_max: int = TESTING_SESSION_TICKS_MAX,
    ) -> None:
        self._journal = journal
        self._tick_ms = tick_ms
        self._ticks_max = ticks_max
        self._server: Server | None = None
        self._thread: threading.Thread | None = None
        self.port = port

    @property
    def connect(self) -> str:
        """For `zookeeper.connect`."""
        return f"{HOST}:{self.port}"

    def start(self) -> None:
        """raises   OSError, where the port is taken"""
        assert self._thread is None, "it runs"
        listener = listen(HOST, self.port)
        self._server = server = Server(listener, self._journal, self._tick_ms, self._ticks_max)
        self.port = server.port
        self._thread = threading.Thread(target=server.run, name="testing-zookeeper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close every connection; sessions live on in the journal. Twice is fine."""
        if self._thread is None or self._server is None:
            return
        self._server.stop()
        self._thread.join()
        self._thread = self._server = None

    def __enter__(self) -> ServerThread:
        self.start()
        return self

    def __exit__(self, *_failure: object) -> None:
        self.stop()
