"""Topics of a scenario: made where they are wanted, with a wait until every broker knows their leaders."""

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

CREATE_S = 60
NOT_DONE_YET = (KafkaError.NOT_CONTROLLER, KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.REQUEST_TIMED_OUT)
NOT_ALL_THERE = (KafkaError.INVALID_REPLICATION_FACTOR, KafkaError.INVALID_REPLICA_ASSIGNMENT)


def create(cluster, topic, partitions=3, replicas=3, config=None, assignment=None):
    """Make a topic, and wait until its replicas are in sync.

    assignment   replicas of each partition, in the place of counts
    """
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
    if assignment is not None:
        wanted = NewTopic(topic, len(assignment), replica_assignment=assignment, config=config or {})
    else:
        wanted = NewTopic(topic, partitions, replicas, config=config or {})

    def is_made():
        """The controller may not have seen every broker's registration yet."""
        try:
            admin.create_topics([wanted], operation_timeout=30)[topic].result(CREATE_S)
        except KafkaException as failure:
            if failure.args[0].code() in NOT_ALL_THERE:
                return False
            raise
        return True

    cluster.wait_until(is_made, "not all brokers are known")
    cluster.wait_until_whole()
    return topic


def delete(cluster, names):
    """Have topics deleted, and wait until no broker has their names. raises AssertionError

    A client asks whom it remembers as the controller: after bounces that is another one, and NOT_CONTROLLER is what it is told.
    """

    def is_marked():
        left = sorted(set(names) & set(cluster.topics()))
        if not left:
            return True
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
        for future in admin.delete_topics(left, operation_timeout=60, request_timeout=90).values():
            try:
                future.result(CREATE_S + 60)
            except KafkaException as failure:
                if failure.args[0].code() not in NOT_DONE_YET:
                    raise
        return not set(names) & set(cluster.topics())

    cluster.wait_until(is_marked, lambda: f"topics are left: {sorted(set(names) & set(cluster.topics()))[:5]}")


def set_config(cluster, topic, key, value):
    """One override more."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(CREATE_S)


def leader(cluster, topic, index=0):
    return cluster.state(topic, index)["leader"]


def followers(cluster, topic, index=0):
    return [one for one in cluster.assignment(topic)[index] if one != leader(cluster, topic, index)]
