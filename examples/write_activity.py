"""Write activity into a topic: made up, or the requests of a web server's access log.

Needs a clone's root as the working directory: `python -m examples.write_activity --help`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence

from examples.activity import Activity, from_access_log, made_up
from headrace.client import Kafka
from headrace.errors import ErrorCode, HeadraceError, KafkaError

EXAMPLES = """examples:
  python -m examples.write_activity                          100,000 records, made up, of the hours up to now
  python -m examples.write_activity /var/log/nginx/access.log
  python -m examples.write_activity --count 5000 --rate 50   one each 20 ms, for a stream to read
"""
PARTITIONS = 2


def write(
    bootstrap_servers: str,
    topic: str,
    records: Iterable[Activity | None],
    rate: float = 0,
    partitions: int = PARTITIONS,
) -> tuple[int, int]:
    """Write records with their own times, keyed by user; the topic is created if it is missing.

    rate         records a second; 0: as fast as the broker takes them
    partitions   of a topic that is created
    returns      written, and left out (None)
    raises       DeliveryFailed, KafkaError, ConnectionFailed
    """
    left_out = 0
    with Kafka(bootstrap_servers) as kafka:
        create(kafka, topic, partitions)
        with kafka.producer() as producer:
            for one in records:
                if one is None:
                    left_out += 1
                    continue
                producer.send(topic, one.value(), one.key(), timestamp_ms=one.timestamp_ms)
                if rate:
                    producer.flush()
                    time.sleep(1 / rate)
            producer.flush()
            return producer.acknowledged, left_out


def create(kafka: Kafka, topic: str, partitions: int) -> None:
    """The topic, if it is missing. It keeps records whatever their age: a log's lines are older than what retention keeps."""
    with kafka.admin() as admin:
        try:
            admin.create_topic(topic, partitions, configs={"retention.ms": "-1"})
        except KafkaError as failure:
            if failure.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m examples.write_activity",
        description=__doc__.partition("\n")[0],
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="access log in the Common or Combined Log Format",
    )
    parser.add_argument("--topic", default="activity", help="default: %(default)s")
    parser.add_argument(
        "--bootstrap-server", default="127.0.0.1:9092", metavar="HOST:PORT", help="default: %(default)s"
    )
    parser.add_argument("--count", type=int, default=100_000, help="made up: records (default: %(default)s)")
    parser.add_argument(
        "--rate", type=float, default=0, help="records a second; made up ones are of now on (default: all at once)"
    )
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    given = _arguments(words)
    pause_ms = max(1, round(1000 / given.rate)) if given.rate else 250
    now_ms = time.time_ns() // 1_000_000
    start_ms = now_ms if given.rate else now_ms - given.count * pause_ms
    try:
        with open(given.file or os.devnull, errors="replace") as lines:
            made = made_up(given.count, start_ms, pause_ms, seed=now_ms)
            records = from_access_log(lines) if given.file else made
            written, left_out = write(given.bootstrap_server, given.topic, records, given.rate)
    except (HeadraceError, OSError) as failure:
        print(f"write_activity: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(
        f"{written} records written to {given.topic}"
        + (f", {left_out} lines left out: no requests" if left_out else "")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
