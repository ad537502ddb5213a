"""A writer or a reader of the client campaign, by `headrace.client`, in a process of its own.

    writer BOOTSTRAP TOPIC PARTITIONS NAME JOURNAL    "a PARTITION NUMBER OFFSET" for an acknowledged record, "f ..." for one that failed
    reader BOOTSTRAP TOPIC GROUP JOURNAL              "r PARTITION OFFSET VALUE" for each record, before the next is asked for

A life has a name of its own. A record is `NAME:NUMBER`; numbers of a partition grow. SIGTERM ends in order, SIGUSR1 has the writer fork a
child that uses the producer there: it has to get `ForkedClient`, and says "k" in the journal ("K" for anything else).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from pathlib import Path

from headrace.client import CommitFailed, ForkedClient, Kafka
from headrace.client.delivery import Delivery
from headrace.client.kafka_producer import KafkaProducer
from headrace.errors import HeadraceError

PAUSE_S = 0.002
_stop = False
_fork = False


def _on_stop(_number: int, _frame: object) -> None:
    global _stop
    _stop = True


def _on_fork(_number: int, _frame: object) -> None:
    global _fork
    _fork = True


def write(bootstrap: str, topic: str, partitions: int, name: str, journal: Path) -> None:
    global _fork
    waiting: deque[tuple[int, int, Delivery]] = deque()
    with (
        open(journal, "a", buffering=1) as said,
        Kafka(bootstrap).producer(linger_ms=2, delivery_timeout_ms=300_000) as producer,
    ):

        def settle(is_last: bool) -> None:
            while waiting and (is_last or waiting[0][2].is_done):
                partition, number, delivery = waiting.popleft()
                failure = delivery.exception(300)
                if failure is None:
                    said.write(f"a {partition} {number} {delivery.result().offset}\n")
                else:
                    said.write(f"f {partition} {number} {failure}\n")

        number = 0
        while not _stop:
            partition = number % partitions
            waiting.append((partition, number, producer.send(topic, f"{name}:{number}".encode(), partition=partition)))
            number += 1
            if _fork:
                _fork = False
                said.write("k\n" if _forked_is_refused(producer, topic) else "K\n")
            settle(is_last=False)
            producer.poll(PAUSE_S)
        settle(is_last=True)
        said.write("end\n")


def _forked_is_refused(producer: KafkaProducer[bytes | None, bytes | None], topic: str) -> bool:
    pid = os.fork()
    if not pid:
        try:
            producer.send(topic, b"from a child")
        except ForkedClient:
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def read(bootstrap: str, topic: str, group: str, journal: Path) -> None:
    with (
        open(journal, "a", buffering=1) as said,
        Kafka(bootstrap).consumer(
            topic, group=group, start="earliest", auto_commit_interval_ms=200, session_timeout_ms=6_000, heartbeat_interval_ms=500,
            max_poll_interval_ms=30_000, assignors="cooperative-sticky", max_poll_records=100,
        ) as consumer,
    ):  # fmt: skip
        while not _stop:
            try:
                for record in consumer.poll(0.2):
                    said.write(
                        f"r {record.partition} {record.offset} {record.value.decode() if record.value else ''}\n"
                    )
            except CommitFailed:
                continue


def main() -> None:
    kind, *arguments = sys.argv[1:]
    signal.signal(signal.SIGTERM, _on_stop)
    signal.signal(signal.SIGUSR1, _on_fork)
    while True:
        try:
            if kind == "writer":
                bootstrap, topic, partitions, name, journal = arguments
                write(bootstrap, topic, int(partitions), name, Path(journal))
            else:
                bootstrap, topic, group, journal = arguments
                read(bootstrap, topic, group, Path(journal))
            return
        except HeadraceError as failure:  # what a program would restart after
            print(f"{kind}: {failure}", file=sys.stderr, flush=True)
            if kind == "writer" or _stop:
                raise
            time.sleep(0.5)


if __name__ == "__main__":
    main()
