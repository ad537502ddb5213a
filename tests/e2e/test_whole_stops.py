"""All nodes stop at the same moment, and begin again; at another inter.broker.protocol.version, too: topics from before ids get theirs.

Whoever stops last finds nobody who could lead in its place, and no controller that it could ask. It stops in its time all the same.
"""

import pytest

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.e2e.test_three_nodes import NODES, ask, create, is_known, isrs_of, numbers, read, running, write
from tests.support.waiting import wait_until

TOPIC = "kept"
NO_ID = bytes(16)
PARTITIONS = 6


@pytest.mark.parametrize(("before", "after"), [("3.9", "3.9"), ("2.6", "2.6"), ("2.6", "3.9")])
def test_nothing_is_lost_nor_recovered_where_all_stop_at_once(tmp_path, before, after):
    whole = [list(range(NODES))] * PARTITIONS
    with running(tmp_path, f"inter.broker.protocol.version={before}") as nodes:
        create(nodes.bootstrap, TOPIC, replication=NODES)
        write(nodes.bootstrap, TOPIC, numbers(600))
        ids_before = topic_ids(nodes)
        assert (ids_before == {NO_ID}) == (before == "2.6")
    for node_id in range(NODES):
        assert (tmp_path / f"node-{node_id}" / "logs" / ".kafka_cleanshutdown").exists()
    with running(tmp_path, f"inter.broker.protocol.version={after}") as nodes:
        wait_until(lambda: is_known(nodes.bootstrap, TOPIC), nodes.log)
        wait_until(lambda: all(isrs_of(one, TOPIC) == whole for one in nodes.bootstraps), nodes.log)
        assert read(nodes.bootstrap, TOPIC) == numbers(600)
        write(nodes.bootstrap, TOPIC, numbers(60, 600))
        assert read(nodes.bootstrap, TOPIC) == numbers(660)
        if before == after:
            assert topic_ids(nodes) == ids_before
        else:
            wait_until(lambda: len(topic_ids(nodes)) == 1 and NO_ID not in topic_ids(nodes), nodes.log)
            wait_until(lambda: len(written_ids(nodes)) == 1, lambda: f"{written_ids(nodes)}")
    assert "Traceback" not in nodes.log()


def topic_ids(nodes):
    """As each node tells it."""
    asked = messages.MetadataRequest.MetadataRequestTopic(name=TOPIC)
    request = messages.MetadataRequest(topics=[asked], allow_auto_topic_creation=False)
    return {ask(one, ApiKey.METADATA, (10, 12), request).topics[0].topic_id for one in nodes.bootstraps}


def written_ids(nodes):
    """What stands in each replica's partition.metadata; None where that is not there."""
    paths = [
        nodes.directory / f"node-{node_id}" / "logs" / f"{TOPIC}-{index}" / "partition.metadata"
        for node_id in range(NODES)
        for index in range(PARTITIONS)
    ]
    return {path.read_text() if path.exists() else None for path in paths}
