"""What to do about a failure, by Kafka's error name: one line under the error."""

from __future__ import annotations

from headrace.errors import ErrorCode, HeadraceError, KafkaError

_ADVICE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "`headrace topics list` lists topics, `headrace topics create` creates one",
    ErrorCode.TOPIC_ALREADY_EXISTS: "`headrace topics describe` shows it; with --if-not-exists this is not an error",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "choose another name",
    ErrorCode.INVALID_PARTITIONS: "give a higher partition count than the topic has; it can't be reduced",
    ErrorCode.INVALID_REPLICATION_FACTOR: "the replication factor can't exceed the number of live brokers",
    ErrorCode.INVALID_CONFIG: "`headrace settings --topics` lists the keys, `headrace topics describe --all-configs` the current values",
    ErrorCode.TOPIC_DELETION_DISABLED: "set delete.topic.enable=true in server.properties",
    ErrorCode.POLICY_VIOLATION: "the limit is set in the broker's server.properties",
    ErrorCode.OFFSET_OUT_OF_RANGE: "choose an offset within the range, or earliest or latest",
    ErrorCode.MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes, or send smaller records",
    ErrorCode.NOT_ENOUGH_REPLICAS: "too few replicas are in sync: `headrace topics describe` shows which; see min.insync.replicas",
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "too few replicas are in sync; the record may be written: check before you resend it",
    ErrorCode.LEADER_NOT_AVAILABLE: "no replica eligible as leader is alive: start its brokers",
    ErrorCode.REQUEST_TIMED_OUT: "the outcome is unknown: check before you retry",
    ErrorCode.NOT_CONTROLLER: "the cluster has no active controller: check that brokers and ZooKeeper are up",
    ErrorCode.NON_EMPTY_GROUP: "stop the group's consumers, or wait for their session timeout; `headrace groups describe` lists them",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has members: stop its consumers first",
    ErrorCode.REBALANCE_IN_PROGRESS: "the group has members: stop its consumers first",
    ErrorCode.GROUP_ID_NOT_FOUND: "`headrace groups list` lists the groups",
    ErrorCode.UNSUPPORTED_VERSION: "the broker version is not supported by this command",
    ErrorCode.INVALID_GROUP_ID: "a group name must not be empty",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "the coordinator is not available yet: retry in a moment",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "the coordinator is still loading its groups: retry in a moment",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "`headrace transactions list` lists the ids",
    ErrorCode.INVALID_TXN_STATE: "`headrace transactions why TOPIC-PARTITION` shows what is open there",
    ErrorCode.CONCURRENT_TRANSACTIONS: "its markers wait for the leaders of those partitions: `headrace cluster describe --offline`",
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: "the group's members support none of our assignors (range, roundrobin)",
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: "the topic has an old message format that this command can't read",
    ErrorCode.KAFKA_STORAGE_ERROR: "a disk of the broker failed: the broker's log says which",
    ErrorCode.CORRUPT_MESSAGE: "a batch was corrupted on disk or on the network: `headrace verify` checks the broker's files",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "the client needs access to this topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "the client needs access to this group",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "the client needs this permission on the cluster",
}
_NO_BROKER = "is a node running there? `headrace dev` starts one; set its address with --bootstrap-servers"


def advice_for(failure: HeadraceError) -> str:
    """'' where there is none."""
    from headrace.client.failures import ConnectionFailed, DeliveryFailed

    cause = failure.cause if isinstance(failure, DeliveryFailed) else failure
    if isinstance(cause, KafkaError):
        return _ADVICE.get(cause.code, "")
    return _NO_BROKER if isinstance(cause, ConnectionFailed) else ""
