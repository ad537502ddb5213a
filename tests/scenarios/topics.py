"""Topics of a scenario: made where they are wanted, with a wait until every broker knows their leaders."""

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

CREATE_S = 60


def create(cluster, topic, partitions=3, replicas=3, config=None, assignment=None):
    """Make a topic, and wait until its replicas are in sync.

    assignment   replicas of each partition, in the place of counts
    """
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
    if assignment is not None:
        wanted = NewTopic(topic, len(assignment), replica_assignment=assignment, config=config or {})
    else:
        wanted = NewTopic(topic, partitions, replicas, config=config or {})
    admin.create_topics([wanted], operation_timeout=30)[topic].result(CREATE_S)
    cluster.wait_until_whole()
    return topic


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
