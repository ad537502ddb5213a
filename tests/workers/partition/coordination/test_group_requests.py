"""Requests about groups as their owner takes them: one group, several, too many."""

import pytest

from headrace.errors import BadFrame, ErrorCode
from headrace.limits import GROUP_STRING_LENGTH_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.shm.messages import CLIENT_HEADER
from headrace.workers.partition.coordination import group_requests
from tests.workers.partition.host_rig import join


def test_groups_are_described_listed_and_deleted(rig):
    rig.load()
    got = join(rig)
    rig.commit(1, "other")
    rig.host.clock.now_ms += 3_000
    rig.host.do_work()
    (listed,) = rig.ask(ApiKey.LIST_GROUPS, 5, messages.ListGroupsRequest(states_filter=["empty"], types_filter=[]))
    assert [(row.group_id, row.group_state, row.group_type) for row in listed.groups] == [("other", "Empty", "classic")]
    (listed,) = rig.ask(ApiKey.LIST_GROUPS, 5, messages.ListGroupsRequest(types_filter=["Consumer"]))
    assert listed.groups == []
    (described,) = rig.ask(
        ApiKey.DESCRIBE_GROUPS,
        5,
        messages.DescribeGroupsRequest(groups=["g", "none"], include_authorized_operations=True),
    )
    found, missing = described.groups
    assert (found.group_state, found.members[0].client_id, found.members[0].client_host) == (
        "CompletingRebalance",
        "app",
        "/h:1",
    )
    assert (missing.group_state, missing.error_code) == ("Dead", 0)
    deletion = rig.ask(ApiKey.DELETE_GROUPS, 2, messages.DeleteGroupsRequest(groups_names=["g", "other", "none"]))
    rig.host.do_work()
    assert [ErrorCode(row.error_code).name for row in deletion[0].results] == [
        "NON_EMPTY_GROUP",
        "NONE",
        "GROUP_ID_NOT_FOUND",
    ]
    assert got


def test_groups_in_memory_are_bounded(rig, monkeypatch):
    monkeypatch.setattr("headrace.workers.coordinators.group.machine.GROUPS_PER_PARTITION_MAX", 3)
    rig.load()
    for number in range(3):
        rig.commit(1, f"g{number}")
    refused = join(rig, "one too many")
    late = rig.commit(1, "two too many")
    known = rig.commit(2, "g1")
    rig.host.do_work()
    assert ErrorCode(refused[0].error_code) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert rig.error_of(late) == "COORDINATOR_NOT_AVAILABLE"
    assert rig.error_of(known) == "NONE"


@pytest.mark.parametrize("version", [5, 6, 9])
def test_an_instance_id_is_short_enough_for_the_member_ids_made_of_it(rig, version):
    """In UTF-8, as older responses and the log write them; a longer one would end the worker when its time comes."""
    rig.load()
    protocols = [messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range")]

    def ask_with(instance_id):
        request = messages.JoinGroupRequest(
            group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, group_instance_id=instance_id,
            protocol_type="consumer", protocols=protocols,
        )  # fmt: skip
        return rig.ask(ApiKey.JOIN_GROUP, version, request, CLIENT_HEADER.pack(0, 0))

    (refused,) = ask_with("\N{GRINNING FACE}" * (GROUP_STRING_LENGTH_MAX + 1))
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    instance_id = "\N{GRINNING FACE}" * GROUP_STRING_LENGTH_MAX
    joined = ask_with(instance_id)
    rig.host.clock.now_ms += 3_000
    rig.host.do_work()
    member_id = joined[0].member_id
    assert member_id.startswith(instance_id)
    request = messages.SyncGroupRequest(
        group_id="g", generation_id=1, member_id=member_id, group_instance_id=instance_id
    )
    synced = rig.ask(ApiKey.SYNC_GROUP, 3, request)
    rig.host.do_work()
    assert synced[0].error_code == 0


def test_a_group_named_many_times_is_fetched_once_with_all_that_was_asked_for(rig):
    rig.load()
    answers = [rig.commit(7, group, partition) for group in ("a", "b", "c") for partition in (0, 1)]
    rig.host.do_work()
    assert all(answers)
    group = messages.OffsetFetchRequest.OffsetFetchRequestGroup
    topic = messages.OffsetFetchRequest.OffsetFetchRequestTopics

    def one(partition):
        return [topic(name="t", partition_indexes=[partition])]

    wanted = [("a", None), ("a", one(0)), ("b", one(1)), ("b", None), ("c", one(1)), ("c", one(1)), ("a", None)]
    request = messages.OffsetFetchRequest(groups=[group(group_id=name, topics=topics) for name, topics in wanted])
    (response,) = rig.ask(ApiKey.OFFSET_FETCH, 8, request)
    found = [
        (row.group_id, [(each.partition_index, each.committed_offset) for each in row.topics[0].partitions])
        for row in response.groups
    ]
    assert found == [("a", [(0, 7), (1, 7)]), ("b", [(0, 7), (1, 7)]), ("c", [(1, 7)])]


@pytest.mark.parametrize("version", [5, 8])
def test_partitions_that_an_offset_fetch_names_are_bounded(rig, monkeypatch, version):
    """Four bytes each in the request, 650 in the worker."""
    monkeypatch.setattr(group_requests, "FETCHED_PARTITIONS_MAX", 10)
    rig.load()
    named = messages.OffsetFetchRequest

    def ask_for(count):
        indexes = list(range(count))
        topic = named.OffsetFetchRequestTopic(name="t", partition_indexes=indexes)
        row = named.OffsetFetchRequestTopics(name="t", partition_indexes=indexes)
        group = named.OffsetFetchRequestGroup(group_id="g", topics=[row])
        request = named(groups=[group]) if version == 8 else named(group_id="g", topics=[topic])
        return rig.ask(ApiKey.OFFSET_FETCH, version, request)

    assert ask_for(10)
    with pytest.raises(BadFrame, match="offsets of 11 partitions"):
        ask_for(11)
