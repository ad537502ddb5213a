"""`headrace topics` from outside: what it prints, what it refuses, what advice an error has."""

import json
import uuid

import pytest

pytestmark = pytest.mark.process


def test_a_topic_is_created_listed_described_altered_and_deleted(program):
    name = f"cli-{uuid.uuid4().hex[:8]}"
    assert (
        program("topics", "create", name, "--partitions", "2", "--config", "segment.ms=60000")
        == f"created {name}\n".encode()
    )
    assert name in program("topics", "list").decode().split("\n")
    described = program("topics", "describe", name).decode()
    assert f"topic {name}  partitions 2  replicas 1" in described
    assert "segment.ms=60000  (topic)" in described
    program("topics", "alter", name, "--partitions", "4", "--config", "retention.ms=5", "--delete-config", "segment.ms")
    [found] = [json.loads(line) for line in program("topics", "describe", name, "--json").splitlines()]
    assert [row["partition"] for row in found["partitions"]] == [0, 1, 2, 3]
    assert found["partitions"][3] == {
        "partition": 3, "leader": 0, "replicas": [0], "isr": [0], "offline": [], "start": 0, "end": 0
    }  # fmt: skip
    assert found["configs"] == [{"key": "retention.ms", "value": "5", "source": "topic"}]
    assert program("topics", "delete", name) == f"deleted {name}\n".encode()
    assert name not in program("topics", "list").decode()


def test_topics_are_listed_as_json(program, topic):
    rows = [json.loads(line) for line in program("topics", "list", "--internal", "--json").splitlines()]
    assert {"topic": topic, "partitions": 3, "internal": False} in rows
    assert [row["topic"] for row in rows] == program("topics", "list", "--internal").decode().split()


def test_the_servers_errors_have_kafkas_names_and_advice(program, topic):
    said = program.fails("topics", "create", topic)
    assert "TOPIC_ALREADY_EXISTS" in said
    assert "--if-not-exists" in said
    program("topics", "create", topic, "--if-not-exists")
    said = program.fails("topics", "describe", "absent")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in said
    assert "headrace topics list" in said
    assert "UNKNOWN_TOPIC_OR_PARTITION" in program.fails("topics", "delete", "absent")
    program("topics", "delete", "absent", "--if-exists")
    assert "INVALID_PARTITIONS" in program.fails("topics", "alter", topic, "--partitions", "2")
    assert "INVALID_REPLICATION_FACTOR" in program.fails("topics", "create", "wide", "--replication-factor", "3")
    said = program.fails("topics", "alter", topic, "--config", "retention.ms=soon")
    assert "INVALID_CONFIG" in said
    assert "retention.ms" in said
    assert "'soon'" in said


def test_of_several_topics_one_that_fails_hides_no_other(program, topic):
    done = program.run("topics", "create", topic, f"{topic}-2")
    assert done.returncode == 1
    assert done.stdout == f"created {topic}-2\n".encode()
    assert b"TOPIC_ALREADY_EXISTS" in done.stderr


def test_a_dry_run_changes_nothing(program, topic):
    assert b"could be created" in program("topics", "create", f"{topic}-x", "--dry-run")
    assert b"could be altered" in program("topics", "alter", topic, "--partitions", "9", "--dry-run")
    assert f"{topic}-x" not in program("topics", "list").decode()
    assert b"partitions 3" in program("topics", "describe", topic)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["create", "a b"], "'a b' is not a valid topic name"),
        (["create", "t", "--partitions", "0"], "--partitions"),
        (["create", "t", "--partitions", "many"], "--partitions"),
        (["create", "t", "--config", "retention.ms"], "'retention.ms' is not KEY=VALUE"),
        (["create", "t", "--config", "a=1", "--config", "a=2"], "'a=2' sets a a second time"),
        (["alter", "t"], "nothing to change"),
        (["alter", "t", "--delete-config", "a=1"], "'a=1' is not a KEY"),
        (["alter", "t", "--config", "a=1", "--delete-config", "a"], "is also set by --config"),
        (["delete"], "TOPIC"),
        (["list", "surplus"], "surplus"),
    ],
)
def test_bad_arguments_are_named(program, arguments, complaint):
    assert complaint in program.fails("topics", *arguments, exit_code=2)


def test_an_address_that_can_not_be(program):
    program.bootstrap = "nowhere"
    assert "'nowhere' is not HOST:PORT" in program.fails("topics", "list", exit_code=2)


def test_a_broker_that_is_not_there(program):
    program.bootstrap = "127.0.0.1:1"
    said = program.fails("topics", "list")
    assert "no broker responded: 127.0.0.1:1" in said
    assert "headrace dev" in said


def test_settings_of_a_client_come_from_a_file(program, tmp_path, topic):
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={program.bootstrap}\nrequest.timeout.ms=60000\nsome.other.key=1\n")
    program.bootstrap = ""
    done = program.run("topics", "list", "--command-config", str(file))
    assert topic in done.stdout.decode().split()
    assert b"ignored unknown keys: some.other.key" in done.stderr
    for line in ("request.timeout.ms=soon", "request.timeout.ms=0", "security.protocol=SASL_SSL"):
        file.write_text(line)
        assert line.partition("=")[0] in program.fails("topics", "list", "--command-config", str(file), exit_code=78)
    assert "missing" in program.fails("topics", "list", "--command-config", str(tmp_path / "missing"), exit_code=2)
