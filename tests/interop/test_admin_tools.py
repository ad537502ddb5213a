"""Kafka's own tools for what a node has none of, or little: they end well and say so."""

import pytest

pytestmark = pytest.mark.interop

CONFIGS = "kafka.admin.ConfigCommand"


@pytest.fixture
def made(node, tools, topic):
    """A topic with two partitions."""
    bootstrap = ("--bootstrap-server", node.bootstrap)
    tools.run("org.apache.kafka.tools.TopicCommand", *bootstrap, "--create", "--topic", topic, "--partitions", "2")
    return topic


def test_defaults_of_all_brokers_are_set_shown_and_taken_back(node, tools):
    entity = ("--bootstrap-server", node.bootstrap, "--entity-type", "brokers", "--entity-default")
    assert b"log.retention.ms" not in tools.run(CONFIGS, *entity, "--describe")
    tools.run(CONFIGS, *entity, "--alter", "--add-config", "log.retention.ms=864000000")
    assert b"log.retention.ms=864000000" in tools.run(CONFIGS, *entity, "--describe")
    tools.run(CONFIGS, *entity, "--alter", "--delete-config", "log.retention.ms")
    assert b"log.retention.ms" not in tools.run(CONFIGS, *entity, "--describe")


def test_a_setting_of_the_file_is_refused_by_name(node, tools):
    entity = ("--bootstrap-server", node.bootstrap, "--entity-type", "brokers", "--entity-name", "0")
    change = ("--alter", "--add-config", "num.io.threads=4")
    said = tools.run(CONFIGS, *entity, *change, check=False, has_errors=True)
    assert b"num.io.threads can't be changed while a node runs" in said


def test_users_clients_and_loggers_are_described(node, tools):
    bootstrap = ("--bootstrap-server", node.bootstrap, "--describe", "--entity-type")
    tools.run(CONFIGS, *bootstrap, "users")
    tools.run(CONFIGS, *bootstrap, "clients", "--entity-name", "nobody")
    assert b"root=INFO" in tools.run(CONFIGS, *bootstrap, "broker-loggers", "--entity-name", "0")


def test_no_election_no_reassignment_no_transaction(node, tools, made):
    bootstrap = ("--bootstrap-server", node.bootstrap)
    one = ("--topic", made, "--partition", "1", "--election-type", "preferred")
    said = tools.run("org.apache.kafka.tools.LeaderElectionCommand", *bootstrap, *one)
    assert b"Valid replica already elected" in said
    said = tools.run("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", *bootstrap, "--list")
    assert b"No partition reassignments found" in said
    said = tools.run("org.apache.kafka.tools.TransactionsCommand", *bootstrap, "list")
    assert said.startswith(b"TransactionalId")
    tools.run(
        "org.apache.kafka.tools.TransactionsCommand",
        *bootstrap,
        "describe-producers",
        "--topic",
        made,
        "--partition",
        "0",
    )
    said = tools.run("org.apache.kafka.tools.GetOffsetShell", *bootstrap, "--topic", made, "--time", "earliest-local")
    assert said.decode().splitlines() == [f"{made}:0:0", f"{made}:1:0"]


def test_acls_are_said_to_be_disabled(node, tools):
    said = tools.run(
        "kafka.admin.AclCommand", "--bootstrap-server", node.bootstrap, "--list", check=False, has_errors=True
    )
    assert b"No Authorizer is configured" in said
