"""Records what three Apache Kafka 3.9 brokers say to each other: `tests/protocol/recorded/`, read by `tests/support/recorded_frames.py`.

`python -m tests.interop.record_frames [IBP ...]`: each broker stands behind a `FrameProxy`. Kept is what is new in a situation: by API,
version, target and shape, so that heartbeats of followers that fetch nothing are there once.
"""

import json
import re
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response
from headrace.protocol.frames import parse_request_header, parse_response_header
from tests.interop.frame_proxy import FrameProxy
from tests.interop.mixed_cluster import MixedCluster
from tests.support.recorded_frames import FOLDER, IBPS

TOPIC = "recorded"
FRAME_BYTES_MAX = 3_000
SETTLE_S = 2.0
OF_BROKERS = re.compile(r"\d+|broker-\d+-fetcher-\d+")  # client ids
REPLICAS = {0: [1, 2, 3], 1: [2, 3, 1]}


class Recorder:
    """Keeps what brokers ask each other, with the situation that it was asked in."""

    def __init__(self):
        self.situation = ""
        self.lines = []
        self._seen = set()
        self._lock = threading.Lock()

    def listener(self, target):
        return lambda exchange: self._note(target, exchange)

    def _note(self, target, exchange):
        if not OF_BROKERS.fullmatch(exchange.client_id) or max(map(len, exchange[3:])) > FRAME_BYTES_MAX:
            return
        if exchange.api_key == ApiKey.API_VERSIONS:
            return
        shape = (self.situation, target, exchange.api_key, exchange.version, *shape_of(exchange))
        name = f"{ApiKey(exchange.api_key).api_name}-v{exchange.version}"
        with self._lock:
            if shape not in self._seen:
                self._seen.add(shape)
                line = (self.situation, target, name, exchange.request.hex(), exchange.response.hex())
                self.lines.append(" ".join(map(str, line)))


def shape_of(exchange):
    """What makes one request another than those before it: all of it, but for a Fetch of a session its outline."""
    position = parse_request_header(memoryview(exchange.request)).body_position
    body = exchange.request[position:]
    if exchange.api_key != ApiKey.FETCH:
        return (body,)
    asked = decode_request(exchange.api_key, exchange.version, memoryview(body))
    _id, position = parse_response_header(memoryview(exchange.response), exchange.api_key, exchange.version)
    told = decode_response(exchange.api_key, exchange.version, exchange.response[position:])
    partitions = [one for topic in told.responses for one in topic.partitions]
    has_records = any(one.records for one in partitions)
    errors = {one.error_code for one in partitions}
    return (min(asked.session_epoch, 1), len(asked.topics), len(asked.forgotten_topics_data), has_records, *errors)


def record(ibp, directory):
    """The lines of one IBP."""
    recorder = Recorder()
    cluster = MixedCluster(directory, ["kafka"] * 3, ibp)
    proxies = []
    for member in cluster.members.values():
        proxy = FrameProxy(lambda port=member.port: ("127.0.0.1", port), recorder.listener(member.broker_id))
        member.advertised_port = proxy.port
        proxies.append(proxy)
    try:
        play(cluster, recorder)
    finally:
        cluster.close()
        for proxy in proxies:
            proxy.close()
    return recorder.lines


def play(cluster, recorder):
    """Each situation, and a while for what follows from it."""

    def enter(situation):
        time.sleep(SETTLE_S)
        recorder.situation = situation

    def reassign(replicas):
        wanted = {"version": 1, "partitions": [{"topic": TOPIC, "partition": 0, "replicas": replicas}]}
        cluster.keeper.create("/admin/reassign_partitions", json.dumps(wanted).encode())
        cluster.wait_until(lambda: cluster.assignment(TOPIC)[0] == replicas, "no reassignment")
        cluster.wait_until(lambda: not cluster.keeper.exists("/admin/reassign_partitions"), "not finished")

    recorder.situation = "start"
    cluster.start(controller=1)
    enter("create")
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    wanted = NewTopic(TOPIC, 2, replica_assignment=[REPLICAS[0], REPLICAS[1]])
    admin.create_topics([wanted])[TOPIC].result(60)
    cluster.wait_until_whole()
    enter("produce")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "enable.idempotence": True})
    for number in range(6):
        producer.produce(TOPIC, b"value %d" % number, partition=number % 2)
        assert producer.flush(60) == 0
    enter("shutdown")
    cluster.stop_one(3)
    enter("return")
    cluster.start_one(3)
    cluster.wait_until_whole()
    enter("kill")
    cluster.stop_one(2, signal.SIGKILL)
    producer.produce(TOPIC, b"while 2 is away", partition=1)
    assert producer.flush(60) == 0
    enter("restart")
    cluster.start_one(2)
    cluster.wait_until_whole()
    enter("resign")
    epoch = cluster.controller_epoch()
    cluster.keeper.delete("/controller")
    cluster.wait_until(lambda: cluster.controller() and cluster.controller_epoch() > epoch, "nobody is elected")
    enter("shrink")
    reassign([1, 2])
    enter("grow")
    reassign([2, 1, 3])
    cluster.wait_until_whole()
    enter("elect")
    wanted = {"version": 1, "partitions": [{"topic": TOPIC, "partition": 1}]}
    cluster.keeper.create("/admin/preferred_replica_election", json.dumps(wanted).encode())
    cluster.wait_until(lambda: cluster.state(TOPIC, 1)["leader"] == REPLICAS[1][0], "no election")
    enter("delete")
    cluster.keeper.create(f"/admin/delete_topics/{TOPIC}")
    cluster.wait_until(lambda: TOPIC not in cluster.topics(), "not deleted")
    enter("end")


def main():
    FOLDER.mkdir(exist_ok=True)
    for ibp in sys.argv[1:] or IBPS:
        with tempfile.TemporaryDirectory(prefix="headrace-record-") as directory:
            lines = record(ibp, Path(directory))
        head = (
            f"# Between three Apache Kafka 3.9.0 brokers at inter.broker.protocol.version={ibp}; by tests/interop/record_frames.py\n"
            "# situation, target's broker id, API and version, request, response: frames without sizes, in hex\n"
        )
        kept = [line for line in lines if not line.startswith("end ")]
        (FOLDER / f"{ibp}.txt").write_text(head + "".join(f"{line}\n" for line in kept))
        print(f"{ibp}: {len(kept)} exchanges", flush=True)


if __name__ == "__main__":
    main()
