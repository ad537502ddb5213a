"""A member of a classic group as a process: `python -m tests.chaos.classic_member CONFIG REGEX STREAMS`.

CONFIG is key=value;... as for the member of Kafka 0.8.2 (`tests/interop/members/ClassicMember.java`), and so is what
it prints: "ready", then a line "topic partition offset" for each message. For each line that it reads it prints
"owned" and the partitions that it reads now. It ends in order at SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from headrace.classic.consumer import Consumer, ConsumerConnector
from headrace.classic.topic_filter import Whitelist


def main(config: str, regex: str, streams: str) -> None:
    """Runs until SIGTERM."""
    is_over = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: is_over.set())
    with Consumer.create(dict(pair.split("=", 1) for pair in config.split(";"))) as connector:
        readers = [
            threading.Thread(target=_read, args=(stream,))
            for stream in connector.create_message_streams_by_filter(Whitelist(regex), int(streams))
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=_answer, args=(connector,), daemon=True).start()
        _say("ready")
        is_over.wait()
    for reader in readers:
        reader.join()


def _read(stream: object) -> None:
    for one in stream:  # type: ignore[attr-defined]
        _say(f"{one.topic} {one.partition} {one.offset}")


def _answer(connector: ConsumerConnector) -> None:
    for _line in sys.stdin:
        _say(" ".join(["owned", *sorted(map(str, connector.owned))]))


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
