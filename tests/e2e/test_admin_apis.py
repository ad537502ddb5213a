"""What a Kafka without authorizer, quotas, tiered storage and transactions answers to those who ask for them.

Versions and codes are those that Kafka 3.9.0 answered to the same requests.
"""

import uuid

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kafka import KafkaAdminClient

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ADVERTISED, ApiKey
from tests.support.waiting import DEADLINE_S, wait_until

# As Kafka 3.9.0 advertises them in ZooKeeper mode
KAFKA_S = {
    2: 9, 3: 12, 17: 1, 19: 7, 20: 6, 29: 3, 30: 3, 31: 3, 36: 2, 43: 2, 45: 0, 46: 0, 48: 1, 50: 0, 61: 0, 65: 0, 66: 1,
}  # fmt: skip
TOPIC_OPERATIONS = 3576  # what Kafka 3.9.0 answers, as CLUSTER_OPERATIONS and GROUP_OPERATIONS
CLUSTER_OPERATIONS = 8096
GROUP_OPERATIONS = 328
NOT_ASKED = -(1 << 31)
PREFERRED, UNCLEAN = 0, 1


@pytest.fixture
def connection(node):
    connection = Connection(*node.address)
    yield connection
    connection.close()


@pytest.fixture
def admin(node):
    return AdminClient({"bootstrap.servers": node.bootstrap})


@pytest.fixture
def topic(admin):
    name = f"asked-{uuid.uuid4().hex[:8]}"
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(DEADLINE_S)
    return name


def each_version(key):
    return pytest.mark.parametrize("version", range(ADVERTISED[key][1] + 1))


def test_the_versions_are_kafka_s():
    assert {key: ADVERTISED[key] for key in KAFKA_S} == {key: (0, high) for key, high in KAFKA_S.items()}


@each_version(ApiKey.DESCRIBE_ACLS)
def test_there_are_no_acls(connection, version):
    request = messages.DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1)
    answer = connection.request(ApiKey.DESCRIBE_ACLS, version, request)
    assert (answer.error_code, answer.resources) == (ErrorCode.SECURITY_DISABLED, [])
    kind = messages.CreateAclsRequest
    made = kind.AclCreation(2, "t", 3, "User:a", "*", 3, 3)
    answer = connection.request(ApiKey.CREATE_ACLS, version, kind(creations=[made] * 3))
    assert [row.error_code for row in answer.results] == [ErrorCode.SECURITY_DISABLED] * 3
    kind = messages.DeleteAclsRequest
    deleted = kind.DeleteAclsFilter(resource_type_filter=2, operation=3, permission_type=3)
    answer = connection.request(ApiKey.DELETE_ACLS, version, kind(filters=[deleted] * 2))
    assert [row.error_code for row in answer.filter_results] == [ErrorCode.SECURITY_DISABLED] * 2


def test_librdkafka_is_told_that_there_are_no_acls_and_no_users(admin):
    everything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    assert admin.describe_acls(everything).result(DEADLINE_S) == []  # with Kafka, too
    assert admin.describe_user_scram_credentials().result(DEADLINE_S) == {}
    with pytest.raises(KafkaException, match="RESOURCE_NOT_FOUND"):
        admin.describe_user_scram_credentials(["bob"])["bob"].result(DEADLINE_S)


def test_kafka_python_lists_nothing(node):
    client = KafkaAdminClient(bootstrap_servers=node.bootstrap)
    assert not client.list_partition_reassignments()
    assert not client.describe_user_scram_credentials()
    assert not any(client.list_transactions().values())
    client.close()


def test_sasl_is_not_spoken_here(connection):
    for version in (0, 1):
        answer = connection.request(ApiKey.SASL_HANDSHAKE, version, messages.SaslHandshakeRequest(mechanism="PLAIN"))
        assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    for version in (0, 1, 2):
        answer = connection.request(
            ApiKey.SASL_AUTHENTICATE, version, messages.SaslAuthenticateRequest(auth_bytes=b"x")
        )
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE


@each_version(ApiKey.ELECT_LEADERS)
def test_no_election_is_needed(connection, topic, version):
    kind = messages.ElectLeadersRequest
    asked = [kind.TopicPartitions(topic, [0, 1, 0, 9]), kind.TopicPartitions("absent", [0])]
    for election_type in (PREFERRED, UNCLEAN)[: 1 + min(version, 1)]:
        request = kind(election_type=election_type, topic_partitions=asked, timeout_ms=1000)
        answer = connection.request(ApiKey.ELECT_LEADERS, version, request)
        assert answer.error_code == 0
        assert {
            row.topic: [(one.partition_id, one.error_code) for one in row.partition_result]
            for row in answer.replica_election_results
        } == {
            topic: [(0, 84), (1, 84), (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
            "absent": [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
        }
    answer = connection.request(ApiKey.ELECT_LEADERS, version, kind(topic_partitions=None, timeout_ms=1000))
    assert answer.replica_election_results == []


def test_an_election_of_no_kind_is_refused(connection, topic):
    kind = messages.ElectLeadersRequest
    request = kind(election_type=7, topic_partitions=[kind.TopicPartitions(topic, [0])], timeout_ms=1000)
    answer = connection.request(ApiKey.ELECT_LEADERS, 2, request)
    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("index", "replicas", "error"),
    [
        (0, None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        (9, None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        (0, [0], ErrorCode.NONE),
        (9, [0], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (0, [5], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (0, [], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (0, [0, 0], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (0, [-1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_partition_stays_where_it_is(connection, topic, index, replicas, error):
    kind = messages.AlterPartitionReassignmentsRequest
    rows = [kind.ReassignablePartition(index, [7]), kind.ReassignablePartition(index, replicas)]
    request = kind(topics=[kind.ReassignableTopic(topic, rows)], timeout_ms=1000)
    answer = connection.request(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, request)
    assert answer.error_code == 0
    assert [row.error_code for row in answer.responses[0].partitions] == [error]
    listed = connection.request(
        ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, messages.ListPartitionReassignmentsRequest(topics=None)
    )
    assert (listed.error_code, listed.topics) == (0, [])


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([], ErrorCode.NONE),
        ([("user", 0, "bob"), ("client-id", 1, None)], ErrorCode.NONE),
        ([("user", 0, "bob"), ("user", 0, "al")], ErrorCode.INVALID_REQUEST),
        ([("ip", 0, "10.0.0.1"), ("user", 2, None)], ErrorCode.INVALID_REQUEST),
        ([("user", 9, "bob")], ErrorCode.INVALID_REQUEST),
        ([("user", 0, None)], ErrorCode.INVALID_REQUEST),
        ([("", 0, "bob")], ErrorCode.INVALID_REQUEST),
        ([("alien", 0, "bob")], ErrorCode.UNSUPPORTED_VERSION),
    ],
)
@each_version(ApiKey.DESCRIBE_CLIENT_QUOTAS)
def test_nobody_is_held_to_a_quota(connection, components, error, version):
    kind = messages.DescribeClientQuotasRequest
    request = kind(components=[kind.ComponentData(*one) for one in components])
    answer = connection.request(ApiKey.DESCRIBE_CLIENT_QUOTAS, version, request)
    assert (answer.error_code, answer.entries) == (error, None if error else [])


def test_users_that_are_named_are_not_found(connection):
    kind = messages.DescribeUserScramCredentialsRequest
    for users, errors in (
        (None, []),
        (["bob", ""], [("bob", ErrorCode.RESOURCE_NOT_FOUND), ("", ErrorCode.RESOURCE_NOT_FOUND)]),
        (["bob", "bob"], [("bob", ErrorCode.DUPLICATE_RESOURCE)]),
    ):
        request = kind(users=users and [kind.UserName(name) for name in users])
        answer = connection.request(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, request)
        assert [(row.user, row.error_code) for row in answer.results] == errors


def test_the_owners_of_partitions_tell_their_producers(node, connection, topic):
    producer = Producer({"bootstrap.servers": node.bootstrap, "enable.idempotence": True})
    for _ in range(3):
        producer.produce(topic, b"v", partition=1)
        assert producer.flush(DEADLINE_S) == 0
    kind = messages.DescribeProducersRequest
    asked = [kind.TopicRequest(topic, [0, 1, 9, 1]), kind.TopicRequest("absent", [0]), kind.TopicRequest("a b", [0])]
    known, absent, bad = connection.request(ApiKey.DESCRIBE_PRODUCERS, 0, kind(topics=asked)).topics
    assert [(row.partition_index, row.error_code, len(row.active_producers)) for row in known.partitions] == [
        (0, 0, 0),
        (1, 0, 1),
        (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0),
    ]
    (state,) = known.partitions[1].active_producers
    assert (state.producer_epoch, state.last_sequence, state.current_txn_start_offset) == (0, 2, -1)
    assert state.producer_id >= 0
    assert absent.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert bad.partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_there_are_no_transactions(connection):
    request = messages.DescribeTransactionsRequest(transactional_ids=["t", "t", ""])
    rows = connection.request(ApiKey.DESCRIBE_TRANSACTIONS, 0, request).transaction_states
    assert [(row.transactional_id, row.error_code) for row in rows] == [
        ("t", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND),
        ("", ErrorCode.INVALID_REQUEST),
    ]
    for version in (0, 1):
        request = messages.ListTransactionsRequest(state_filters=["Ongoing", "empty", "nix", "nix"])
        answer = connection.request(ApiKey.LIST_TRANSACTIONS, version, request)
        assert (answer.unknown_state_filters, answer.transaction_states) == (["empty", "nix"], [])


@pytest.mark.parametrize(
    ("timestamp", "first_version", "offset"),
    [(-1, 0, 1), (-2, 0, 0), (-3, 7, 0), (-4, 8, 0), (-5, 9, -1), (-6, 99, -1)],
)
def test_special_times_are_known_from_their_version_on(node, connection, topic, timestamp, first_version, offset):
    producer = Producer({"bootstrap.servers": node.bootstrap})
    producer.produce(topic, b"v", partition=0)
    assert producer.flush(DEADLINE_S) == 0
    kind = messages.ListOffsetsRequest
    wanted = kind.ListOffsetsPartition(partition_index=0, timestamp=timestamp, max_num_offsets=1)
    request = kind(replica_id=-1, topics=[kind.ListOffsetsTopic(topic, [wanted])])
    for version in range(ADVERTISED[ApiKey.LIST_OFFSETS][1] + 1):
        row = connection.request(ApiKey.LIST_OFFSETS, version, request).topics[0].partitions[0]
        if version < first_version:
            assert row.error_code == ErrorCode.UNSUPPORTED_VERSION
        else:
            assert (row.error_code, row.old_style_offsets[0] if version == 0 else row.offset) == (0, offset)
            assert timestamp == -3 or row.timestamp == -1


def test_operations_are_told_where_they_are_asked_for(connection, topic):
    kind = messages.MetadataRequest
    for version in range(8, 13):
        for is_asked in (True, False):
            request = kind(
                topics=[kind.MetadataRequestTopic(name=topic), kind.MetadataRequestTopic(name="a b")],
                include_cluster_authorized_operations=is_asked,
                include_topic_authorized_operations=is_asked,
            )
            answer = connection.request(ApiKey.METADATA, version, request)
            if version <= 10:
                assert answer.cluster_authorized_operations == (CLUSTER_OPERATIONS if is_asked else NOT_ASKED)
            known = [row.topic_authorized_operations for row in answer.topics]
            assert known == [TOPIC_OPERATIONS if is_asked else NOT_ASKED, NOT_ASKED]
    for version in (0, 1):
        request = messages.DescribeClusterRequest(include_cluster_authorized_operations=True)
        answer = connection.request(ApiKey.DESCRIBE_CLUSTER, version, request)
        assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS
    connection.request(ApiKey.FIND_COORDINATOR, 2, messages.FindCoordinatorRequest(key="g"))  # makes the offsets topic
    for version in (3, 4, 5):
        request = messages.DescribeGroupsRequest(groups=["g"], include_authorized_operations=True)

        def operations(version=version, request=request):
            return connection.request(ApiKey.DESCRIBE_GROUPS, version, request).groups[0].authorized_operations

        wait_until(lambda: operations() == GROUP_OPERATIONS, operations)
