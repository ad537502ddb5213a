"""Every version of the group requests against a node, from the first JoinGroup to the deleted group."""

import struct
import uuid

import pytest

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ADVERTISED, ApiKey
from headrace.protocol.codec import encode_struct
from headrace.protocol.frames import build_request
from tests.support.waiting import DEADLINE_S

SUBSCRIPTION = b"\0\0" + encode_struct(
    "ConsumerProtocolSubscription", 0, messages.ConsumerProtocolSubscription(topics=["versions"])
)


@pytest.fixture
def ask(node):
    """Asks in a version, or the highest there is below it."""
    connection = Connection(*node.address)

    def call(api, version, **fields):
        used = min(version, ADVERTISED[api][1])
        request = getattr(messages, f"{ApiKey(api).api_name}Request")(**fields)
        return connection.request(api, used, request, timeout_s=DEADLINE_S)

    yield call
    connection.close()


@pytest.fixture(autouse=True)
def topic(ask):
    row = messages.CreateTopicsRequest.CreatableTopic(name="versions", num_partitions=2, replication_factor=1)
    ask(ApiKey.CREATE_TOPICS, 4, topics=[row], timeout_ms=60_000)


def join(ask, group, version, **fields):
    row = messages.JoinGroupRequest.JoinGroupRequestProtocol
    given = {
        "group_id": group,
        "session_timeout_ms": 60_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": [row(name="range", metadata=SUBSCRIPTION)],
        **fields,
    }
    answer = ask(ApiKey.JOIN_GROUP, version, **given)
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        assert version >= 4
        answer = ask(ApiKey.JOIN_GROUP, version, **{**given, "member_id": answer.member_id})
    assert answer.error_code == 0
    return answer


def commit(ask, group, version, joined=None, offset=5):
    topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic
    row = messages.OffsetCommitRequest.OffsetCommitRequestPartition
    fields = {}
    if joined is not None and version > 0:
        fields = {"generation_id_or_member_epoch": joined.generation_id, "member_id": joined.member_id}
    rows = [row(partition_index=1, committed_offset=offset, committed_metadata="note", committed_leader_epoch=3)]
    answer = ask(
        ApiKey.OFFSET_COMMIT, version, group_id=group, topics=[topic(name="versions", partitions=rows)], **fields
    )
    return answer.topics[0].partitions[0].error_code


def fetch(ask, group, version):
    if version >= 8:
        topic = messages.OffsetFetchRequest.OffsetFetchRequestTopics
        row = messages.OffsetFetchRequest.OffsetFetchRequestGroup
        topics = [topic(name="versions", partition_indexes=[1])]
        rows = [row(group_id=f"{group}-{number}", topics=None) for number in range(9)]
        answer = ask(
            ApiKey.OFFSET_FETCH, version, groups=[row(group_id=group, topics=topics), *rows], require_stable=True
        )
        assert [each.group_id for each in answer.groups] == [group, *(f"{group}-{number}" for number in range(9))]
        assert all(not each.error_code and not each.topics for each in answer.groups[1:])
        return answer.groups[0].topics[0].partitions[0]
    topic = messages.OffsetFetchRequest.OffsetFetchRequestTopic
    topics = [topic(name="versions", partition_indexes=[1])]
    return ask(ApiKey.OFFSET_FETCH, version, group_id=group, topics=topics).topics[0].partitions[0]


@pytest.mark.parametrize("version", range(10))
def test_a_group_lives_and_dies_in_one_version(ask, version):
    group = f"versions-{version}-{uuid.uuid4().hex[:8]}"
    found = ask(ApiKey.FIND_COORDINATOR, version, key=group, coordinator_keys=[group, f"{group}-other"])
    rows = found.coordinators if version >= 4 else [found]
    assert {(row.error_code, row.node_id) for row in rows} == {(0, 0)}

    joined = join(ask, group, version)
    assert joined.leader == joined.member_id
    assert [bytes(row.metadata) for row in joined.members] == [SUBSCRIPTION]
    row = messages.SyncGroupRequest.SyncGroupRequestAssignment
    identity = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    protocol = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    synced = ask(
        ApiKey.SYNC_GROUP,
        version,
        **identity,
        **protocol,
        assignments=[row(member_id=joined.member_id, assignment=b"mine")],
    )
    assert (synced.error_code, bytes(synced.assignment)) == (0, b"mine")
    assert ask(ApiKey.HEARTBEAT, version, **identity).error_code == 0

    assert commit(ask, group, version, joined) == 0
    found = fetch(ask, group, version)
    assert (found.committed_offset, found.error_code) == (5, 0)
    assert found.metadata == ("note" if version else "")

    (described,) = ask(ApiKey.DESCRIBE_GROUPS, version, groups=[group]).groups
    assert (described.group_state, described.protocol_data) == ("Stable", "range")
    assert described.members[0].client_host == "/127.0.0.1"
    listed = {row.group_id: row for row in ask(ApiKey.LIST_GROUPS, version).groups}
    assert listed[group].protocol_type == "consumer"
    refused = ask(ApiKey.DELETE_GROUPS, version, groups_names=[group]).results
    assert ErrorCode(refused[0].error_code) is ErrorCode.NON_EMPTY_GROUP

    member = messages.LeaveGroupRequest.MemberIdentity(member_id=joined.member_id)
    left = ask(ApiKey.LEAVE_GROUP, version, group_id=group, member_id=joined.member_id, members=[member])
    assert left.error_code == 0
    deleted = ask(ApiKey.DELETE_GROUPS, version, groups_names=[group, f"{group}-none"]).results
    assert {row.group_id: ErrorCode(row.error_code).name for row in deleted} == {
        group: "NONE",
        f"{group}-none": "GROUP_ID_NOT_FOUND",
    }


def test_offsets_of_version_0_and_of_the_topic_are_apart(ask):
    group = f"apart-{uuid.uuid4().hex[:8]}"
    assert commit(ask, group, 0, offset=7) == 0
    assert commit(ask, group, 1, offset=9) == 0
    assert fetch(ask, group, 0).committed_offset == 7
    assert fetch(ask, group, 1).committed_offset == 9


def test_offsets_are_deleted_one_by_one(ask):
    group = f"delete-{uuid.uuid4().hex[:8]}"
    commit(ask, group, 8)
    topic = messages.OffsetDeleteRequest.OffsetDeleteRequestTopic
    row = messages.OffsetDeleteRequest.OffsetDeleteRequestPartition
    topics = [
        topic(name="versions", partitions=[row(partition_index=1), row(partition_index=9)]),
    ]
    answer = ask(ApiKey.OFFSET_DELETE, 0, group_id=group, topics=topics)
    assert [ErrorCode(each.error_code).name for each in answer.topics[0].partitions] == [
        "NONE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    assert fetch(ask, group, 7).committed_offset == -1


def test_keys_of_unknown_types_have_no_coordinator(ask):
    answer = ask(ApiKey.FIND_COORDINATOR, 3, key="x", key_type=7)
    assert ErrorCode(answer.error_code).name == "INVALID_REQUEST"
    assert answer.error_message


def test_requests_about_groups_that_name_nothing_are_answered(ask):
    assert ask(ApiKey.DESCRIBE_GROUPS, 5, groups=[]).groups == []
    assert ask(ApiKey.DELETE_GROUPS, 2, groups_names=[]).results == []
    assert ask(ApiKey.OFFSET_FETCH, 8, groups=[]).groups == []
    assert ask(ApiKey.OFFSET_COMMIT, 8, group_id="nothing", topics=[]).topics == []
    assert ask(ApiKey.FIND_COORDINATOR, 4, coordinator_keys=[]).coordinators == []


def test_strings_of_any_length_kill_nobody(node, ask):
    pids = node.pids()
    long = "x" * 32_000
    row = messages.JoinGroupRequest.JoinGroupRequestProtocol
    fields = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000, "protocol_type": "consumer"}
    for given in (
        {"group_id": long, "protocols": [row(name="range", metadata=b"")]},
        {"group_id": "long", "group_instance_id": long, "protocols": [row(name="range", metadata=b"")]},
        {"group_id": "long", "protocols": [row(name=long, metadata=b"")]},
    ):
        assert ask(ApiKey.JOIN_GROUP, 9, **{**fields, **given}).error_code
    assert ask(ApiKey.HEARTBEAT, 4, group_id=long, generation_id=1, member_id=long).error_code
    assert ask(ApiKey.DESCRIBE_GROUPS, 5, groups=[long]).groups[0].group_id == long
    assert ask(ApiKey.DELETE_GROUPS, 2, groups_names=[long]).results[0].error_code
    frame = build_request(ApiKey.JOIN_GROUP, 3, 1, "c" * 32_000, messages.JoinGroupRequest(group_id="g", **fields))
    connection = Connection(*node.address)
    connection._socket.sendall(frame)
    assert struct.unpack(">i", connection._socket.recv(4))[0] > 0
    connection.close()
    assert node.pids() == pids
