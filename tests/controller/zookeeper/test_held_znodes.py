"""What stands in ZooKeeper of held replicas."""

import pytest

from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import BadZnode


def test_held_replicas_are_read_as_they_were_written():
    held = {
        3: HeldReplica("0f" * 16, is_proven=True, end_offset=88, end_epoch=4, high_watermark=120, waits_for=(2, 7)),
        0: HeldReplica("0f" * 16, is_sole=True),
        1: HeldReplica("0f" * 16, is_proven=True, parted_at=0, parted_from=3, parted_in=7, is_nameless=True),
    }
    assert [held[index].is_ahead for index in (0, 1, 3)] == [False, True, False]
    assert held_znodes.decode_held("/x", held_znodes.encode_held(held)) == held


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"topic_id":"","partitions":{"x":{}}}', b'{"partitions":[]}'])
def test_what_is_none_is_refused(data):
    with pytest.raises(BadZnode, match="/x: "):
        held_znodes.decode_held("/x", data)


def test_each_partition_has_a_place_of_its_own():
    assert held_znodes.accept_loss_path(("a-b", 1)) == "/headrace/accept_loss/a-b:1"
    assert held_znodes.held_path(7, "t") == f"{held_znodes.held_by_path(7)}/t" == "/headrace/held/7/t"


def test_what_can_not_be_read_has_others_beside_it():
    assert held_znodes.name_beside("t") == "t:0:1"
    assert held_znodes.name_beside("t:0:1") == "t:0:2"
    assert held_znodes.name_beside("t:3") == "t:3:1"
    assert held_znodes.topic_of_held("t:3:1") == "t"
