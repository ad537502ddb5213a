"""Three hosts with a node and a Spark worker each: bytes read locally are counted, and a node or a whole host is lost in mid-job."""

import json
import subprocess
import sys
import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.chaos.network_rooms import Networks, NoNetworks
from tests.spark_hosts.hosts import HOSTS, START_S, Hosts
from tests.support import children

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

RECORDS = 60_000  # of a partition: more than an Arrow batch
PATIENCE_S = 180
LOCAL_SHARE_MIN = 0.95
# topic -> replicas of each partition
TOPICS = {
    "everywhere": [[1, 2, 3], [2, 3, 1], [3, 1, 2]] * 2,
    "once": [[1], [2], [3]] * 2,
    "on-two": [[1, 2], [2, 1]] * 3,
}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    try:
        networks = Networks(len(HOSTS))
    except NoNetworks as failure:
        pytest.skip(str(failure))
    try:
        made = Hosts(tmp_path_factory.mktemp("hosts"), networks)
        try:
            made.start()
            for topic, replicas in TOPICS.items():
                fill(made.bootstrap, topic, replicas)
            made.cluster.wait_until_whole()
            yield made
        finally:
            made.close()
    finally:
        networks.close()


def fill(bootstrap, topic, replicas):
    """Numbers as values: of partition p the numbers from p * RECORDS on."""
    client = AdminClient({"bootstrap.servers": bootstrap})
    for future in client.create_topics([NewTopic(topic, len(replicas), replica_assignment=replicas)]).values():
        future.result(PATIENCE_S)
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 20, "acks": "all", "queue.buffering.max.messages": 2_000_000}
    )
    for partition in range(len(replicas)):
        for number in range(partition * RECORDS, (partition + 1) * RECORDS):
            producer.produce(topic, b"%d" % number, partition=partition)  # all of them are counted in the end
    assert producer.flush(PATIENCE_S) == 0


def expected(topic):
    count = len(TOPICS[topic]) * RECORDS
    return count, count * (count - 1) // 2


class Driver:
    """The process of `driver.py`."""

    def __init__(self, hosts):
        arguments = [hosts.master, hosts.bootstrap, hosts.networks.clients, str(hosts.directory)]
        self._log = hosts.directory / "driver.log"
        with open(self._log, "a") as log:
            self._process = children.start(
                [sys.executable, "-m", "tests.spark_hosts.driver", *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        assert self._process.stdout.readline() == "ready\n", self._log.read_text()[-3000:]

    def begin(self, job, topic, **more):
        self._process.stdin.write(json.dumps({"job": job, "topic": topic, **more}) + "\n")
        self._process.stdin.flush()

    def result(self):
        line = self._process.stdout.readline()
        assert line, self._log.read_text()[-3000:]
        return json.loads(line)

    def run(self, job, topic, **more):
        self.begin(job, topic, **more)
        return self.result()

    def close(self):
        for stream in (self._process.stdin, self._process.stdout):
            stream.close()
        children.end(self._process)


@pytest.fixture(scope="module")
def driver(hosts):
    made = Driver(hosts)
    yield made
    made.close()


@pytest.mark.parametrize("topic", ["everywhere", "once"])
def test_nearly_all_bytes_are_read_from_the_hosts_own_files(driver, topic):
    for _run in range(2):  # the first one starts the Python workers
        found = driver.run("scan", topic)
        assert (found["rows"], found["sum"]) == expected(topic)
        print(topic, found["said"])
        total = found["local"] + found["remote"]
        assert total > expected(topic)[0] * 7
        assert found["local"] / total >= LOCAL_SHARE_MIN, found["said"]


def test_what_has_no_placement_is_right_too(driver):
    found = driver.run("format", "once")
    assert (found["rows"], found["sum"]) == expected("once")


def held_by(directory, tasks):
    """Host addresses of tasks that hold, once there are that many."""

    def look():
        held = [path.name.partition(".")[2] for path in directory.iterdir()]
        return held if len(held) >= tasks else None

    deadline = time.monotonic() + START_S  # an executor that was killed has to come back first
    while not (found := look()):
        assert time.monotonic() < deadline, f"only {list(directory.iterdir())} hold"
        time.sleep(0.1)
    return found


@pytest.mark.parametrize(
    ("topic", "way", "tasks"),
    [
        ("everywhere", "node", 6),  # its files are there, and are read on
        ("once", "node", 6),
        ("on-two", "node", 6),  # on host 3 tasks fetch, from whoever leads
        ("everywhere", "host", 6),  # its tasks run again beside another replica
        ("on-two", "host", 6),
    ],
)
def test_a_loss_in_mid_job_changes_nothing(hosts, driver, tmp_path, topic, way, tasks):
    driver.begin("scan", topic, hold=str(tmp_path))
    on = held_by(tmp_path, tasks)
    number = next(number for number in HOSTS if hosts.networks.rooms[number - 1].address in on)
    try:
        (hosts.kill_node if way == "node" else hosts.kill_host)(number)
        (tmp_path / "go").touch()
        found = driver.result()
        print(topic, way, number, sorted(on), found["said"])
        assert (found["rows"], found["sum"]) == expected(topic)
        third = hosts.networks.rooms[2].address
        assert bool(found["remote"]) == (topic == "on-two") or way == "host", found["said"]
        assert topic != "on-two" or third in on
    finally:
        hosts.restore(number)
