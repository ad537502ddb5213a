"""What to do about a failure, by Kafka's error name: one line under the error."""

from __future__ import annotations

from headrace.errors import ErrorCode, HeadraceError, KafkaError

_ADVICE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "`headrace topics list` shows the topics, `headrace topics create` makes one",
    ErrorCode.TOPIC_ALREADY_EXISTS: "`headrace topics describe` shows it; --if-not-exists makes this no error",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "choose another name",
    ErrorCode.INVALID_PARTITIONS: "ask for more partitions than there are; a topic never shrinks",
    ErrorCode.INVALID_REPLICATION_FACTOR: "ask for at most as many replicas as there are live brokers",
    ErrorCode.INVALID_CONFIG: "`headrace settings --topics` shows the keys, `headrace topics describe --all-configs` what holds now",
    ErrorCode.TOPIC_DELETION_DISABLED: "set delete.topic.enable=true in server.properties",
    ErrorCode.POLICY_VIOLATION: "the node's limits stand in its server.properties",
    ErrorCode.OFFSET_OUT_OF_RANGE: "choose an offset in the range, or earliest or latest",
    ErrorCode.MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes, or send smaller records",
    ErrorCode.NOT_ENOUGH_REPLICAS: "too few replicas are in sync: `headrace topics describe` shows which; see min.insync.replicas",
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "too few replicas are in sync; the record may be there: check before you send it again",
    ErrorCode.LEADER_NOT_AVAILABLE: "no replica of the partition that may lead is alive: start its brokers",
    ErrorCode.REQUEST_TIMED_OUT: "the outcome is unknown: look before you try again",
    ErrorCode.NOT_CONTROLLER: "the cluster has no active controller: are brokers and ZooKeeper up?",
    ErrorCode.NON_EMPTY_GROUP: "stop the group's consumers, or wait for their session timeout; `headrace groups describe` lists them",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has members: stop its consumers first",
    ErrorCode.REBALANCE_IN_PROGRESS: "the group has members: stop its consumers first",
    ErrorCode.GROUP_ID_NOT_FOUND: "`headrace groups list` shows the groups",
    ErrorCode.UNSUPPORTED_VERSION: "the broker is too old, or too new, for this command",
    ErrorCode.INVALID_GROUP_ID: "a group's name can't be empty",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "the broker hosts no coordinator (yet): try again in a moment",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "the coordinator is still loading its groups: try again in a moment",
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: "the group's other members share no assignor with us (range, roundrobin)",
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: "the topic holds an old message format that this command does not read",
    ErrorCode.KAFKA_STORAGE_ERROR: "a disk of the broker failed: its log tells which",
    ErrorCode.CORRUPT_MESSAGE: "the network or the disk garbled a batch: `headrace verify` checks the broker's files",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "ask for the right to use this topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "ask for the right to use this group",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ask for the right to do this in the cluster",
}
_NO_BROKER = "is a node running there? `headrace dev` starts one; --bootstrap-servers says where to look"


def advice_for(failure: HeadraceError) -> str:
    """'' where there is none."""
    from headrace.client.connection import ConnectionFailed
    from headrace.client.producer import DeliveryFailed

    cause = failure.cause if isinstance(failure, DeliveryFailed) else failure
    if isinstance(cause, KafkaError):
        return _ADVICE.get(cause.code, "")
    return _NO_BROKER if isinstance(cause, ConnectionFailed) else ""
