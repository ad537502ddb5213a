"""`headrace consume --group` over a log that retention shortens, against a broker of files."""

import pytest

from headrace.cli.arguments import Start
from headrace.cli.consume import GroupReader, Output
from headrace.cli.interrupt import Interrupt
from headrace.client.cluster import Cluster
from headrace.client.consumer import Consumer
from headrace.ids import TopicPartition
from tests.support.file_log_fixtures import broker, log

__all__ = ["broker", "log"]

CLICKS = [TopicPartition("clicks", partition) for partition in range(2)]


class Member:
    """A member of a group that has all partitions, with committed offsets of 0."""

    is_member = False

    def __init__(self):
        self.commits = {}

    def heartbeat(self):
        return self.is_member

    def join(self):
        self.is_member = True
        return CLICKS

    def committed(self, names):
        return dict.fromkeys(names, 0)

    def commit(self, offsets):
        self.commits |= offsets
        return True

    def leave(self):
        self.is_member = False


@pytest.fixture
def reader(log, broker):
    """A reader whose position in the last partition retention passes when it has joined."""
    for name in CLICKS:
        for first in range(0, 100, 10):
            log.append(name, [(b"k", b"%d" % (first + index)) for index in range(10)])
    with Cluster(broker.address) as cluster, Cluster(broker.address) as group_cluster:
        cluster.refresh(["clicks"])
        group_cluster.refresh(["clicks"])
        reader = GroupReader(
            group_cluster, Consumer(cluster), "billing", "clicks", Start(is_earliest=True), False, False
        )
        reader._member = Member()
        yield reader


def test_a_partition_out_of_range_costs_the_others_of_its_fetch_no_record(reader, log, capfdbinary, monkeypatch):
    assign = reader._consumer.assign

    def assigned(positions, ends):
        assign(positions, ends)
        log.starts[CLICKS[1]] = 50

    monkeypatch.setattr(reader._consumer, "assign", assigned)
    output = Output(lambda topic, partition, record: b"%d %d\n" % (partition, record.offset), None)
    with Interrupt() as interrupt:
        reader.run(output, interrupt)
    printed = [tuple(map(int, line.split())) for line in capfdbinary.readouterr().out.splitlines()]
    assert sorted(printed) == [*((0, offset) for offset in range(100)), *((1, offset) for offset in range(50, 100))]
    assert reader._member.commits == dict.fromkeys(CLICKS, 100)
