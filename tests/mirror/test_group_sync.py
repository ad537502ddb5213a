"""Groups are carried over each by itself: what the cluster refuses of one hinders no other one."""

import logging
from dataclasses import replace
from types import SimpleNamespace

import pytest

from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.mirror import group_sync
from headrace.mirror.group_sync import GroupSync
from headrace.mirror.identity import LaneName
from headrace.mirror.journal import LaneNotes
from headrace.mirror.journal_record import Position
from headrace.mirror.settings import read_settings

SOURCE, TARGET = "source", "target"
NAME = TopicPartition("clicks", 0)
GROUPS = ("a", "b", "c")


@pytest.fixture
def offsets(monkeypatch):
    """(cluster, group) -> its offsets; a group named in `refused` can't be written at the target."""
    held = {(SOURCE, group): {NAME: 5} for group in GROUPS}
    refused = set()

    class FakeAdmin:
        def __init__(self, cluster):
            self._cluster = cluster

        def list_groups(self):
            return [SimpleNamespace(group_id=group, protocol_type="consumer") for group in GROUPS]

        def describe_group(self, _group):
            return SimpleNamespace(state="Empty")

        def alter_group_offsets(self, group, due):
            if group in refused:
                raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"group {group}")
            held[self._cluster, group] = due

    def committed(cluster, group, names):
        return {name: offset for name, offset in held.get((cluster, group), {}).items() if name in names}

    monkeypatch.setattr(group_sync, "Admin", FakeAdmin)
    monkeypatch.setattr(group_sync, "committed_offsets", committed)
    return SimpleNamespace(held=held, refused=refused)


def sync(list_key="mirror.topics.whitelist"):
    """list_key   the list that names the topic"""
    given = {"mirror.source.bootstrap.servers": "a:1", "mirror.target.bootstrap.servers": "b:1", list_key: NAME.topic}
    return GroupSync(replace(read_settings(None, given), name="m"), SOURCE, "id", TARGET)


def lanes():
    notes = LaneNotes()
    notes.translation.place(Position(1, 0, 10, 10, 13))
    return {LaneName("m", "id", *NAME): notes}


def test_a_group_that_is_refused_hinders_no_other_one_and_is_tried_again(offsets, caplog):
    offsets.refused.add("a")
    groups = sync()
    with caplog.at_level(logging.WARNING):
        assert groups.run(lanes()) == 2
        assert groups.run(lanes()) == 0
    assert [record.message for record in caplog.records] == [
        "group offsets not copied group=a reason=GROUP_AUTHORIZATION_FAILED: group a"
    ]
    assert {group for cluster, group in offsets.held if cluster == TARGET} == {"b", "c"}
    offsets.refused.clear()
    assert groups.run(lanes()) == 1


def test_offsets_of_a_topic_that_is_no_longer_copied_are_left_out(offsets):
    assert sync("mirror.topics.blacklist").run(lanes()) == 0
    assert sync().run(lanes()) == len(GROUPS)
