"""Requests of many rows of which nothing is known: other requests have their turn between the rows."""

import pytest

from headrace.controller.admin import (
    a06_update_metadata,
    a08_offset_commit,
    a09_offset_fetch,
    a20_delete_topics,
    a33_alter_configs,
    a37_create_partitions,
    a43_elect_leaders,
    a45_alter_partition_reassignments,
)
from headrace.limits import READS_IN_FLIGHT_MAX
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_request
from headrace.protocol.messages import ZERO_UUID
from tests.controller.admin.told import CONTROLLER, Controller, UpdateMetadata
from tests.support.blown_requests import Blown, Known, build

ROWS = 60
KINDS = [
    (a20_delete_topics, Blown(ApiKey.DELETE_TOPICS, 5, ("topic_names",), "unique")),
    (a37_create_partitions, Blown(ApiKey.CREATE_PARTITIONS, 3, ("topics",), "unique")),
    (a33_alter_configs, Blown(ApiKey.ALTER_CONFIGS, 2, ("resources",), "unique")),
    (a45_alter_partition_reassignments, Blown(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, ("topics",), "unique")),
    (a43_elect_leaders, Blown(ApiKey.ELECT_LEADERS, 2, ("topic_partitions",), "unique")),
    (a08_offset_commit, Blown(ApiKey.OFFSET_COMMIT, 0, ("topics",), "unique")),
    (a09_offset_fetch, Blown(ApiKey.OFFSET_FETCH, 0, ("topics",), "unique")),
]


@pytest.mark.parametrize(("handler", "kind"), KINDS, ids=[kind.api_key.api_name for _handler, kind in KINDS])
def test_a_request_pauses_between_its_rows(new_node, monkeypatch, handler, kind):
    """One of 40,000 names that no topic has held the controller process for 1.7 s: nothing in its loop waits."""
    node = new_node()
    node.turn()
    pauses = []
    pause = node.tasks.pause
    monkeypatch.setattr(node.tasks, "pause", lambda: pauses.append(1) or pause())
    message = build(kind, ROWS, Known("t", ZERO_UUID, 1, "g", 0, {}))
    node.handle(handler.handle, kind.version, memoryview(bytes(encode_request(kind.api_key, kind.version, message))))
    assert len(pauses) >= ROWS


def test_very_many_names_that_no_topic_has_are_not_read_one_by_one(new_node, ensemble, monkeypatch):
    """An UpdateMetadata of 40,000 of them took two minutes: each was read ten times."""
    controller = Controller(ensemble)
    node = new_node()
    known_id = controller.put_topic("u", ((CONTROLLER,),), {0: controller.state(CONTROLLER, 0, (CONTROLLER,))})
    read, get_many = [], node.zk.get_many
    monkeypatch.setattr(node.zk, "get_many", lambda paths, **watch: read.extend(paths) or get_many(paths, **watch))
    names = ["u", *(f"x{number}" for number in range(2 * READS_IN_FLIGHT_MAX))]
    row = UpdateMetadata.UpdateMetadataPartitionState(leader=CONTROLLER, isr=[CONTROLLER], replicas=[CONTROLLER])
    topics = [UpdateMetadata.UpdateMetadataTopicState(name, bytes.fromhex(known_id), [row]) for name in names]
    request = UpdateMetadata(controller_id=CONTROLLER, controller_epoch=controller.epoch, topic_states=topics)
    node.handle(a06_update_metadata.handle, 8, memoryview(bytes(encode_request(ApiKey.UPDATE_METADATA, 8, request))))
    assert "u" in node.known.topics
    assert len(read) < 50
