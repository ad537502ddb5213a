"""Three nodes of one cluster, as `headrace dev --nodes 3` runs them: who leads, who is asked, who takes over.

Most topics here have one replica, so a node's partitions are offline while it is away. Tests run in
order: the last of them stop the nodes.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from kazoo.client import KazooClient

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.kafka import Kafka
from headrace.client.range_reader import read_ranges
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch
from headrace.shm.region import SHM_DIRECTORY, region_prefix
from tests.cli.program import Program
from tests.support import children
from tests.support.waiting import wait_until

NODES = 3
SESSION_MS = 4_000
OFFSETS_PARTITIONS = 6


@dataclass
class ThreeNodes:
    """A running `headrace dev --nodes 3`."""

    bootstraps: list[str]
    zookeeper: str
    directory: Path
    process: subprocess.Popen
    errors: Path

    @property
    def bootstrap(self):
        return ",".join(self.bootstraps)

    def pid(self, node_id):
        """Of a node's supervisor; None while it does not run."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for pid in path.read_text().split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if Path(f"/proc/{pid}/comm").read_text().strip() == f"hr-node-{node_id}":
                    return int(pid)
        return None

    def log(self):
        return self.errors.read_text()

    def health(self, *options, node=0):
        """What `headrace cluster describe` says when this node is asked."""
        text = Program(self.bootstraps[node])("cluster", "describe", "--json", *options)
        return [json.loads(line) for line in text.splitlines()]

    def live(self, node=0):
        """Ids of brokers that this node knows to be there."""
        with Cluster(self.bootstraps[node]) as cluster:
            cluster.refresh([])
            return set(cluster.brokers)

    def controller(self, node=0):
        with Cluster(self.bootstraps[node]) as cluster:
            cluster.refresh([])
            return cluster.controller_id

    def controller_epoch(self):
        client = KazooClient(self.zookeeper)
        client.start()
        try:
            return int(client.get("/controller_epoch")[0])
        finally:
            client.stop()
            client.close()

    def broker_epoch(self, node_id):
        """The zxid that made a node's registration; None while there is none."""
        client = KazooClient(self.zookeeper)
        client.start()
        try:
            found = client.exists(f"/brokers/ids/{node_id}")
            return found and found.czxid
        finally:
            client.stop()
            client.close()

    def regions(self):
        """Names in /dev/shm of all nodes."""
        prefixes = [region_prefix(one, self.directory / f"node-{one}" / "logs") for one in range(NODES)]
        return [name for name in os.listdir(SHM_DIRECTORY) if name.startswith(tuple(prefixes))]


@contextlib.contextmanager
def running(directory, *more):
    """Three nodes, until the end of the block.

    more   settings, as `key=value`
    """
    settings = (
        f"zookeeper.session.timeout.ms={SESSION_MS}",
        f"offsets.topic.num.partitions={OFFSETS_PARTITIONS}",
        "headrace.partitions.max=256",
        *more,
    )
    command = [sys.executable, "-m", "headrace.cli.main", "dev", "--nodes", str(NODES), "--dir", str(directory)]
    command += ["--port", "0", *(word for setting in settings for word in ("--set", setting))]
    errors = directory / "log"
    with open(errors, "w") as log:
        process = children.start(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith("ready "), errors.read_text()[-3000:]
        words = dict(word.split("=", 1) for word in line.split()[1:])
        nodes = ThreeNodes(words["bootstrap"].split(","), words["zookeeper"], directory, process, errors)
        yield nodes
    finally:
        code = children.end(process)
        process.stdout.close()
    assert code == 0, nodes.log()[-3000:]
    assert nodes.regions() == []


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    with running(tmp_path_factory.mktemp("three-nodes")) as nodes:
        yield nodes


@pytest.fixture
def topic(nodes):
    """A topic of six partitions, two on each node."""
    name = f"three-{uuid.uuid4().hex[:8]}"
    create(nodes.bootstrap, name)
    return name


def create(bootstrap, name, partitions=6, replication=1):
    with Cluster(bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(name, partitions, replication)]) == {name: None}
    wait_until(lambda: is_known(bootstrap, name))


def is_known(bootstrap, name):
    """Whether every node knows the topic: they follow ZooKeeper one by one."""
    return all(metadata_of(address, name) is not None for address in bootstrap.split(","))


def metadata_of(bootstrap, name):
    """{partition: what metadata says}, or None"""
    with Cluster(bootstrap) as cluster:
        try:
            cluster.refresh([name])
        except KafkaError:
            return None
        return {one.partition: found for one, found in cluster.partitions.items()}


def isrs_of(bootstrap, name):
    return [sorted(found.isr) for _partition, found in sorted(metadata_of(bootstrap, name).items())]


def leaders_of(bootstrap, name):
    return {partition: found.leader for partition, found in metadata_of(bootstrap, name).items()}


def write(bootstrap, topic, values, partitions=6):
    with Kafka(bootstrap) as kafka, kafka.producer() as producer:
        for number, value in enumerate(values):
            producer.send(topic, value, partition=number % partitions)
    assert producer.acknowledged == len(values)


def read(bootstrap, topic, partitions=range(6)):
    """All values of these partitions, sorted."""
    names = [TopicPartition(topic, index) for index in partitions]
    with Cluster(bootstrap) as cluster:
        ends = cluster.offsets(dict.fromkeys(names, LATEST))
    with Kafka(bootstrap) as kafka:
        return sorted(one.value for records in read_ranges(kafka, dict.fromkeys(names, 0), ends) for one in records)


def numbers(count, start=0):
    return sorted(b"%06d" % number for number in range(start, start + count))


def ask(bootstrap, api_key, versions, request):
    """One request to one node, whatever it leads."""
    host, _, port = bootstrap.rpartition(":")
    with Cluster(bootstrap) as cluster:
        connection = cluster.connect(host, int(port))
        try:
            return connection.request(api_key, connection.version(api_key, *versions), request)
        finally:
            connection.close()


def coordinator_of(bootstrap, group):
    request = messages.FindCoordinatorRequest(key=group, key_type=0)

    def found():
        answer = ask(bootstrap, ApiKey.FIND_COORDINATOR, (1, 3), request)
        return None if answer.error_code else (answer.node_id,)

    return wait_until(
        found, lambda: f"no coordinator of {group}: {ask(bootstrap, ApiKey.FIND_COORDINATOR, (1, 3), request)}"
    )[0]


def groups_by_node(bootstrap):
    """A group for each node as its coordinator."""
    found = {}
    for number in range(100):
        group = f"group-{number}"
        found.setdefault(coordinator_of(bootstrap, group), group)
        if len(found) == NODES:
            return found
    raise AssertionError(f"groups are coordinated by {sorted(found)} only")


def test_partitions_of_one_replica_are_spread_over_the_nodes(nodes, topic):
    for bootstrap in nodes.bootstraps:
        assert Counter(leaders_of(bootstrap, topic).values()) == {0: 2, 1: 2, 2: 2}
    for node_id in range(NODES):
        led = {f"{topic}-{index}" for index, leader in leaders_of(nodes.bootstrap, topic).items() if leader == node_id}
        logs = nodes.directory / f"node-{node_id}" / "logs"
        wait_until(lambda logs=logs, led=led: {path.name for path in logs.glob(f"{topic}-*")} == led)


def test_clients_that_know_one_node_write_to_all_and_read_from_all(nodes, topic):
    for index, bootstrap in enumerate(nodes.bootstraps):
        write(bootstrap, topic, numbers(600, 600 * index))
    for bootstrap in nodes.bootstraps:
        assert read(bootstrap, topic) == numbers(1800)


def test_a_group_of_each_coordinator_reads_everything_and_commits(nodes, topic):
    write(nodes.bootstrap, topic, numbers(300))
    groups = groups_by_node(nodes.bootstraps[(nodes.controller() + 1) % NODES])  # has the offsets topic made
    for bootstrap in nodes.bootstraps:
        wait_until(lambda bootstrap=bootstrap: is_known(bootstrap, "__consumer_offsets"))
        assert groups_by_node(bootstrap) == groups
    for node_id, group in groups.items():
        consumer = Consumer(
            {
                "bootstrap.servers": nodes.bootstraps[(node_id + 1) % NODES],  # not its coordinator
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        values = []
        wait_until(
            lambda consumer=consumer, values=values: (
                values.extend(one.value() for one in consumer.consume(500, 0.1) if not one.error())
                or len(values) >= 300
            )
        )
        consumer.commit(asynchronous=False)
        consumer.close()
        assert sorted(values) == numbers(300)
    for bootstrap in nodes.bootstraps:
        with Cluster(bootstrap) as cluster:
            admin = Admin(cluster)
            assert {group.group_id for group in admin.list_groups()} >= set(groups.values())
            for group in groups.values():
                assert sum(admin.group_offsets(group).values()) == 300


def test_a_node_that_does_not_lead_says_so(nodes, topic):
    leader = leaders_of(nodes.bootstrap, topic)[0]
    other = nodes.bootstraps[(leader + 1) % NODES]
    kind = messages.ProduceRequest
    data = kind.TopicProduceData(topic, [kind.PartitionProduceData(0, build_batch([(b"k", b"v")]))])
    produced = ask(other, ApiKey.PRODUCE, (3, 8), kind(acks=1, timeout_ms=1000, topic_data=[data]))
    assert produced.responses[0].partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    kind = messages.FetchRequest
    row = kind.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    wanted = [kind.FetchTopic(topic=topic, partitions=[row])]
    fetched = ask(other, ApiKey.FETCH, (4, 11), kind(max_bytes=1000, session_epoch=-1, topics=wanted))
    assert fetched.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    kind = messages.ListOffsetsRequest
    row = kind.ListOffsetsPartition(partition_index=0, timestamp=EARLIEST)
    listed = ask(
        other,
        ApiKey.LIST_OFFSETS,
        (1, 7),
        kind(replica_id=-1, topics=[kind.ListOffsetsTopic(name=topic, partitions=[row])]),
    )
    assert listed.topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_node_that_is_no_coordinator_says_so(nodes):
    groups = groups_by_node(nodes.bootstraps[nodes.controller()])
    for node_id, group in groups.items():
        other = nodes.bootstraps[(node_id + 1) % NODES]
        beat = ask(
            other, ApiKey.HEARTBEAT, (0, 3), messages.HeartbeatRequest(group_id=group, generation_id=1, member_id="m")
        )
        assert beat.error_code == ErrorCode.NOT_COORDINATOR


def test_a_node_that_is_no_controller_says_so_and_changes_nothing(nodes):
    other = nodes.bootstraps[(nodes.controller() + 1) % NODES]
    kind = messages.CreateTopicsRequest
    made = ask(
        other, ApiKey.CREATE_TOPICS, (1, 6), kind(topics=[kind.CreatableTopic("nowhere", 1, 1)], timeout_ms=5000)
    )
    assert [row.error_code for row in made.topics] == [ErrorCode.NOT_CONTROLLER]
    gone = ask(
        other, ApiKey.DELETE_TOPICS, (1, 5), messages.DeleteTopicsRequest(topic_names=["nowhere"], timeout_ms=5000)
    )
    assert [row.error_code for row in gone.responses] == [ErrorCode.NOT_CONTROLLER]
    assert metadata_of(nodes.bootstraps[nodes.controller()], "nowhere") is None


@pytest.mark.parametrize("node_id", range(NODES))
def test_the_command_line_reaches_the_controller_by_any_node(nodes, node_id):
    name = f"any-{uuid.uuid4().hex[:8]}"
    program = Program(nodes.bootstraps[node_id])
    program("topics", "create", name, "--partitions", "3")
    wait_until(lambda: is_known(nodes.bootstrap, name))
    program("topics", "alter", name, "--partitions", "6", "--config", "retention.ms=86400000")
    wait_until(lambda: all(len(metadata_of(one, name)) == 6 for one in nodes.bootstraps))
    [described] = [json.loads(line) for line in program("topics", "describe", name, "--json").splitlines()]
    assert {row["leader"] for row in described["partitions"]} == {0, 1, 2}
    assert all(row["isr"] == row["replicas"] == [row["leader"]] for row in described["partitions"])
    assert described["configs"] == [{"key": "retention.ms", "value": "86400000", "source": "topic"}]
    program("topics", "delete", name)
    wait_until(lambda: all(metadata_of(one, name) is None for one in nodes.bootstraps))


def test_a_cluster_is_described_alike_by_all_nodes(nodes, topic):
    said = [nodes.health(node=node_id)[0] for node_id in range(NODES)]
    assert said[0] == said[1] == said[2]
    assert [row["broker"] for row in said[0]["brokers"] if row["alive"]] == [0, 1, 2]
    assert [row["broker"] for row in said[0]["brokers"] if row["controller"]] == [said[0]["controller"]]
    assert sum(row["leaders"] for row in said[0]["brokers"]) == said[0]["partitions"]["all"]
    assert said[0]["partitions"]["offline"] == said[0]["partitions"]["under_replicated"] == 0
    at_minimum = [row for row in nodes.health("--at-min-isr") if row["topic"] == topic]
    assert [row["partition"] for row in at_minimum] == list(range(6))


@pytest.mark.parametrize("is_controller", [True, False])
def test_a_topic_is_made_for_a_client_that_asks_any_node(nodes, is_controller):
    name = f"auto-{uuid.uuid4().hex[:8]}"
    controller = nodes.controller()
    bootstrap = nodes.bootstraps[controller if is_controller else (controller + 1) % NODES]
    kind = messages.MetadataRequest
    request = kind(topics=[kind.MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)
    wait_until(
        lambda: ask(bootstrap, ApiKey.METADATA, (4, 9), request).topics[0].error_code == 0,
        lambda: ask(bootstrap, ApiKey.METADATA, (4, 9), request).topics,
    )


def test_another_node_takes_over_from_a_killed_controller_which_comes_back_with_what_it_had(nodes, topic):
    write(nodes.bootstrap, topic, numbers(600))
    killed = nodes.controller()
    survivors = [one for one in range(NODES) if one != killed]
    led = [index for index, leader in leaders_of(nodes.bootstrap, topic).items() if leader == killed]
    others = sorted(set(range(6)) - set(led))
    before = read(nodes.bootstrap, topic, led)
    epoch = nodes.controller_epoch()
    os.kill(nodes.process.pid, signal.SIGSTOP)  # or it would come back before its session ends
    try:
        os.kill(nodes.pid(killed), signal.SIGKILL)
        for node_id in survivors:
            wait_until(lambda node_id=node_id: nodes.controller(node_id) in survivors)
        assert nodes.controller_epoch() == epoch + 1
        rest = [nodes.bootstraps[node_id] for node_id in survivors]
        wait_until(lambda: all(leaders_of(one, topic)[led[0]] == -1 for one in rest))
        create(",".join(rest), f"{topic}-after", partitions=4)
        assert set(leaders_of(rest[0], f"{topic}-after").values()) == set(survivors)
        write(",".join(rest), f"{topic}-after", numbers(40), partitions=4)
        assert len(read(rest[1], topic, others)) == 400
        offline = nodes.health("--offline", node=survivors[0])
        assert [row["partition"] for row in offline if row["topic"] == topic] == led
        [health] = nodes.health(node=survivors[1])
        assert [row["alive"] for row in health["brokers"]] == [one != killed for one in range(NODES)]
    finally:
        os.kill(nodes.process.pid, signal.SIGCONT)
    wait_until(lambda: all(leaders_of(one, topic)[led[0]] == killed for one in rest), nodes.log)
    wait_until(lambda: nodes.live(survivors[0]) == {0, 1, 2})
    assert f"node died node={killed}" in nodes.log()
    own = nodes.bootstraps[killed]
    wait_until(lambda: {leaders_of(own, topic)[index] for index in led} == {killed}, nodes.log)
    assert read(nodes.bootstraps[survivors[0]], topic, led) == before
    write(nodes.bootstrap, topic, numbers(600, 600))
    assert read(nodes.bootstraps[killed], topic) == numbers(1200)
    assert leaders_of(nodes.bootstraps[killed], f"{topic}-after") == leaders_of(rest[0], f"{topic}-after")


def test_all_nodes_learn_all_leaders_by_requests_of_the_controller_and_of_the_next_one(nodes):
    """Nobody but the controller reads the states of partitions whose leader changed: the others are told."""
    name = f"told-{uuid.uuid4().hex[:8]}"
    create(nodes.bootstrap, name, replication=NODES)
    wait_until(lambda: all(sorted(leaders_of(one, name).values()) == [0, 0, 1, 1, 2, 2] for one in nodes.bootstraps))
    killed = nodes.controller()
    survivors = [one for one in range(NODES) if one != killed]
    rest = [nodes.bootstraps[one] for one in survivors]
    os.kill(nodes.process.pid, signal.SIGSTOP)  # or it would come back before its session ends
    try:
        os.kill(nodes.pid(killed), signal.SIGKILL)
        for one in rest:
            wait_until(lambda one=one: set(leaders_of(one, name).values()) == set(survivors), nodes.log)
        wait_until(lambda: leaders_of(rest[0], name) == leaders_of(rest[1], name))
    finally:
        os.kill(nodes.process.pid, signal.SIGCONT)
    own = nodes.bootstraps[killed]
    wait_until(lambda: nodes.live(survivors[0]) == {0, 1, 2})
    wait_until(lambda: is_known(own, name))
    wait_until(lambda: leaders_of(own, name) == leaders_of(rest[0], name), nodes.log)


def test_a_deletion_waits_for_a_node_that_is_away_and_leaves_nothing_there_when_it_is_back(nodes):
    name = f"waits-{uuid.uuid4().hex[:8]}"
    create(nodes.bootstrap, name, partitions=3, replication=NODES)
    wait_until(lambda: all(sorted(leaders_of(one, name).values()) == [0, 1, 2] for one in nodes.bootstraps))
    controller = nodes.controller()
    killed, other = [one for one in range(NODES) if one != controller]
    wait_until(lambda: [len(directories_of(nodes, one, name)) for one in range(NODES)] == [3] * NODES)
    os.kill(nodes.process.pid, signal.SIGSTOP)  # or it would come back before its session ends
    try:
        os.kill(nodes.pid(killed), signal.SIGKILL)
        wait_until(lambda: nodes.live(controller) == {controller, other})
        wait_until(lambda: set(leaders_of(nodes.bootstraps[controller], name).values()) == {controller, other})
        request = messages.DeleteTopicsRequest(topic_names=[name], timeout_ms=500)
        answer = ask(nodes.bootstraps[controller], ApiKey.DELETE_TOPICS, (1, 5), request)
        assert [row.error_code for row in answer.responses] == [ErrorCode.REQUEST_TIMED_OUT]
        wait_until(lambda: not directories_of(nodes, controller, name) and not directories_of(nodes, other, name))
        assert znodes_of(nodes, name) == [f"/brokers/topics/{name}", f"/admin/delete_topics/{name}"]
        assert len(directories_of(nodes, killed, name)) == 3
    finally:
        os.kill(nodes.process.pid, signal.SIGCONT)
    wait_until(lambda: nodes.live(controller) == {0, 1, 2})
    wait_until(lambda: znodes_of(nodes, name) == [], nodes.log)
    assert not directories_of(nodes, killed, name)
    wait_until(lambda: all(metadata_of(one, name) is None for one in nodes.bootstraps))


def directories_of(nodes, node_id, name):
    """Of partitions that are not on their way out."""
    found = (nodes.directory / f"node-{node_id}" / "logs").glob(f"{name}-*")
    return [path.name for path in found if not path.name.endswith("-delete")]


def znodes_of(nodes, name):
    client = KazooClient(nodes.zookeeper)
    client.start()
    try:
        return [path for path in (f"/brokers/topics/{name}", f"/admin/delete_topics/{name}") if client.exists(path)]
    finally:
        client.stop()
        client.close()


def test_isrs_shrink_where_a_node_goes_and_are_whole_again_once_it_is_back(nodes):
    """The leaders on all nodes ask the active controller, which tells all."""
    check_isrs(nodes)


def check_isrs(nodes):
    """Kill the active controller, and see the ISRs of a topic on all nodes that are there."""
    name = f"isr-{uuid.uuid4().hex[:8]}"
    create(nodes.bootstrap, name, replication=NODES)
    write(nodes.bootstrap, name, numbers(60))
    whole = [list(range(NODES))] * 6
    wait_until(lambda: all(isrs_of(one, name) == whole for one in nodes.bootstraps), nodes.log)
    killed = nodes.controller()
    rest = [one for node_id, one in enumerate(nodes.bootstraps) if node_id != killed]
    os.kill(nodes.process.pid, signal.SIGSTOP)  # or it would come back before its session ends
    try:
        os.kill(nodes.pid(killed), signal.SIGKILL)
        left = [[one for one in range(NODES) if one != killed]] * 6
        wait_until(lambda: all(isrs_of(one, name) == left for one in rest), nodes.log)
        write(",".join(rest), name, numbers(60, 60))
    finally:
        os.kill(nodes.process.pid, signal.SIGCONT)
    wait_until(lambda: all(isrs_of(one, name) == whole for one in rest), nodes.log)
    wait_until(lambda: is_known(nodes.bootstraps[killed], name))
    wait_until(lambda: isrs_of(nodes.bootstraps[killed], name) == whole, nodes.log)
    assert read(nodes.bootstraps[killed], name) == numbers(120)


def test_a_killed_node_is_back_in_its_session_and_leads_on(nodes, topic):
    write(nodes.bootstrap, topic, numbers(60))
    killed = (nodes.controller() + 1) % NODES
    epoch = nodes.controller_epoch()
    before = nodes.pid(killed)
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: nodes.pid(killed) not in (None, before))
    write(nodes.bootstrap, topic, numbers(60, 60))
    assert read(nodes.bootstrap, topic) == numbers(120)
    assert nodes.controller_epoch() == epoch


def test_a_node_whose_stop_was_cut_short_is_in_sync_again(nodes):
    """It is back within its session; what the controller noted of the life before, that it asked to go, is over."""
    name = f"cut-{uuid.uuid4().hex[:8]}"
    create(nodes.bootstrap, name, replication=NODES)
    whole = [list(range(NODES))] * 6
    wait_until(lambda: isrs_of(nodes.bootstrap, name) == whole, nodes.log)
    stopped = (nodes.controller() + 1) % NODES
    rest = nodes.bootstraps[(stopped + 1) % NODES]
    before, epoch = nodes.pid(stopped), nodes.broker_epoch(stopped)
    os.kill(before, signal.SIGTERM)
    wait_until(lambda: all(stopped not in isr for isr in isrs_of(rest, name)), nodes.log)
    with contextlib.suppress(ProcessLookupError):
        os.kill(before, signal.SIGKILL)
    wait_until(lambda: nodes.pid(stopped) not in (None, before), nodes.log)
    wait_until(lambda: isrs_of(rest, name) == whole, nodes.log)
    assert nodes.broker_epoch(stopped) > epoch
    write(nodes.bootstrap, name, numbers(60))
    assert read(nodes.bootstrap, name) == numbers(60)


def test_a_node_stopped_by_hand_stays_so_until_it_is_started(nodes, topic):
    write(nodes.bootstrap, topic, numbers(60))
    stopped = (nodes.controller() + 1) % NODES
    rest = [one for one in range(NODES) if one != stopped]
    led = [index for index, leader in leaders_of(nodes.bootstrap, topic).items() if leader == stopped]
    os.kill(nodes.pid(stopped), signal.SIGTERM)
    wait_until(lambda: nodes.live(rest[0]) == set(rest))  # its session is closed, nothing expires
    wait_until(
        lambda: [row["partition"] for row in nodes.health("--offline", node=rest[0]) if row["topic"] == topic] == led
    )
    text = Program(nodes.bootstraps[rest[1]])("topics", "describe", topic, "--json")
    for row in json.loads(text)["partitions"]:
        is_led = row["partition"] in led
        assert (row["leader"] is None, row["offline"], row["end"] is None) == (is_led, [stopped] * is_led, is_led)
    wait_until(lambda: f"node stopped node={stopped}" in nodes.log())
    assert nodes.pid(stopped) is None
    file = nodes.directory / f"node-{stopped}" / "server.properties"
    assert f"headrace start {file}" in nodes.log()
    process = children.start(
        [sys.executable, "-m", "headrace.cli.main", "start", str(file)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert f"bootstrap={nodes.bootstraps[stopped]} " in process.stdout.readline()
        wait_until(lambda: nodes.live(rest[0]) == {0, 1, 2})
        wait_until(lambda: leaders_of(nodes.bootstraps[rest[0]], topic)[led[0]] == stopped)
        assert read(nodes.bootstraps[rest[0]], topic) == numbers(60)
    finally:
        assert children.end(process) == 0
        process.stdout.close()
