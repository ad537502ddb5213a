"""`headrace groups` and `headrace consume --group` against a node, and against Apache Kafka."""

import json
import signal
import subprocess
import sys
import uuid

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.client.admin import Admin
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.process


@pytest.fixture
def program(group_server):
    from tests.cli.program import Program

    program = Program(group_server)
    yield program
    program.close()


@pytest.fixture
def topic(program):
    name = f"cli-{uuid.uuid4().hex[:8]}"
    program("topics", "create", name, "--partitions", "2")
    program("produce", name, "-p", "0", stdin=b"".join(b"%d\n" % number for number in range(100)))
    program("produce", name, "-p", "1", stdin=b"".join(b"%d\n" % number for number in range(100, 120)))
    return name


@pytest.fixture
def group(topic):
    return f"group-{topic}"


def offsets(program, group):
    [found] = program("groups", "describe", group, "--json").splitlines()
    return {(row["topic"], row["partition"]): row["offset"] for row in json.loads(found)["partitions"]}


def owners(program, group):
    """The member of each partition that has one."""
    [found] = program("groups", "describe", group, "--json").splitlines()
    rows = json.loads(found)["partitions"]
    return {row["partition"]: row["member"] for row in rows if row["member"]}


def test_a_group_goes_on_where_it_stopped(program, topic, group):
    assert sorted(map(int, program("consume", topic, "--group", group).split())) == list(range(120))
    assert program("consume", topic, "--group", group) == b""
    program("produce", topic, "-p", "0", stdin=b"new\n")
    assert program("consume", topic, "--group", group) == b"new\n"
    assert offsets(program, group) == {(topic, 0): 101, (topic, 1): 20}


def test_what_was_not_printed_is_not_stored(program, topic, group):
    first = program("consume", topic, "--group", group, "--max-messages", "30").split()
    rest = program("consume", topic, "--group", group).split()
    assert len(first) == 30
    assert sorted(map(int, first + rest)) == list(range(120))


def test_a_new_group_may_begin_at_the_end(program, topic, group):
    assert program("consume", topic, "--group", group, "--from", "latest") == b""
    program("produce", topic, "-p", "0", stdin=b"new\n")
    assert program("consume", topic, "--group", group) == b"new\n", "it began at the end, for good"


def test_a_stored_offset_that_is_gone_is_told_and_the_rest_is_read(program, topic, group):
    program("consume", topic, "--group", group, "--max-messages", "1")
    program("groups", "reset-offsets", group, "--topic", topic, "--to-offset", "5", "--execute")
    place = TopicPartition(topic, 0, 40)
    admin = AdminClient({"bootstrap.servers": program.bootstrap})
    admin.delete_records([place])[place].result(DEADLINE_S)
    done = program.run("consume", topic, "--group", group)
    assert done.returncode == 0
    assert sorted(map(int, done.stdout.split())) == [*range(40, 100), *range(105, 120)]
    assert (
        f"offset 5 of {topic}-0 is out of range, valid offsets are 40 to 100: continuing at 40" in done.stderr.decode()
    )


def test_a_member_that_waits_for_others_ends_when_it_is_told_to(program, topic, group):
    with (
        Cluster(program.bootstrap) as cluster,
        Kafka(program.bootstrap) as kafka,
        kafka.consumer(topic, group=group, assignors=["range"]) as other,
    ):
        wait_until(lambda: other.poll(0.1) is not None and other.has_share)
        # it does not poll again, and gives up no partitions meanwhile: a member that joins waits for it
        run = program.start("consume", topic, "--group", group, "--follow")
        wait_until(lambda: "PreparingRebalance" in program("groups", "list", "--state", "PreparingRebalance").decode())
        run.send_signal(signal.SIGINT)
        assert run.wait(DEADLINE_S) == 130
        assert run.stderr.read() == b""
        assert len(Admin(cluster).describe_group(group).members) == 1, "it has left"


def test_a_member_that_is_stopped_leaves_in_order_and_its_offsets_are_stored(program, topic, group):
    run = program.start("consume", topic, "--group", group, "--follow")
    for _ in range(120):
        assert run.stdout.readline()
    assert "NON_EMPTY_GROUP" in program.fails("groups", "reset-offsets", group, "--topic", topic, "--to-earliest")
    assert "NON_EMPTY_GROUP" in program.fails("groups", "delete", group)
    described = program("groups", "describe", group).decode()
    assert "state Stable  members 1  assignor range" in described
    run.send_signal(signal.SIGINT)
    assert run.wait(DEADLINE_S) == 130
    assert run.stderr.read() == b""
    assert "state Empty  members 0" in program("groups", "describe", group).decode()
    assert offsets(program, group) == {(topic, 0): 100, (topic, 1): 20}


def test_members_that_follow_share_the_topic_while_others_come_and_go(program, topic, group):
    """A member that waits at the end has a fetch on its way when the next generation begins."""
    first = program.start("consume", topic, "--group", group, "--follow", "--format", "%p\\n")
    for _ in range(120):
        assert first.stdout.readline()
    second = program.start("consume", topic, "--group", group, "--follow", "--format", "%p\\n")
    wait_until(lambda: len(set(owners(program, group).values())) == 2)
    for partition in ("0", "1"):
        program("produce", topic, "-p", partition, stdin=b"more\n")
    assert {first.stdout.readline(), second.stdout.readline()} == {b"0\n", b"1\n"}
    second.send_signal(signal.SIGINT)
    assert second.wait(DEADLINE_S) == 130
    wait_until(lambda: len(owners(program, group)) == 2)
    for partition in ("0", "1"):
        program("produce", topic, "-p", partition, stdin=b"more\n")
    assert {first.stdout.readline(), first.stdout.readline()} == {b"0\n", b"1\n"}
    first.send_signal(signal.SIGINT)
    assert first.wait(DEADLINE_S) == 130
    assert first.stderr.read() == second.stderr.read() == b""
    assert offsets(program, group) == {(topic, 0): 102, (topic, 1): 22}


def test_resets_are_shown_first_and_done_when_told(program, topic, group):
    program("consume", topic, "--group", group)

    def reset(*options):
        lines = program("groups", "reset-offsets", group, *options, "--json").splitlines()
        return {(row["partition"], row["offset"], row["new"], row["done"]) for row in map(json.loads, lines)}

    assert reset("--topic", topic, "--to-earliest") == {(0, 100, 0, False), (1, 20, 0, False)}
    assert offsets(program, group) == {(topic, 0): 100, (topic, 1): 20}
    assert reset("--topic", f"{topic}:1", "--to-offset", "15", "--execute") == {(1, 20, 15, True)}
    assert offsets(program, group) == {(topic, 0): 100, (topic, 1): 15}
    assert reset("--all-topics", "--shift-by", "-10", "--execute") == {(0, 100, 90, True), (1, 15, 5, True)}
    assert reset("--all-topics", "--to-latest") == {(0, 90, 100, False), (1, 5, 20, False)}
    assert reset("--all-topics", "--to-time", "-1h") == {(0, 90, 0, False), (1, 5, 0, False)}
    assert reset("--all-topics", "--to-time", "2999-01-01T00:00:00Z") == {(0, 90, 100, False), (1, 5, 20, False)}
    assert sorted(map(int, program("consume", topic, "--group", group).split())) == [*range(90, 100), *range(105, 120)]
    shown = program("groups", "reset-offsets", group, "--topic", topic, "--to-earliest").decode()
    assert "dry run: nothing was changed, apply with --execute" in shown


def test_a_shift_leaves_out_what_has_no_offset_unless_it_was_asked_for(program, topic, group):
    program("groups", "reset-offsets", group, "--topic", f"{topic}:1", "--to-offset", "9", "--execute")
    done = program.run("groups", "reset-offsets", group, "--topic", topic, "--shift-by", "-4", "--execute", "--json")
    assert done.returncode == 0
    assert [json.loads(line)["new"] for line in done.stdout.splitlines()] == [5]
    assert f"skipped {topic}-0: no committed offset to shift" in done.stderr.decode()
    for scope in (f"{topic}:0,1", f"{topic}:0"):
        said = program.fails("groups", "reset-offsets", group, "--topic", scope, "--shift-by", "-4", "--execute")
        assert f"{topic}-0 has no committed offset to shift from" in said
    assert offsets(program, group) == {(topic, 1): 5}


@pytest.mark.parametrize(
    ("options", "exit_code", "complaint"),
    [
        (
            ["--topic", "{topic}", "--to-offset", "21"],
            1,
            "OFFSET_OUT_OF_RANGE: offset 21 of {topic}-1 is out of range: valid offsets are 0 to 20",
        ),
        (["--topic", "{topic}", "--shift-by", "1"], 1, "OFFSET_OUT_OF_RANGE: offset 101 of {topic}-0"),
        (["--topic", "{topic}:2", "--to-earliest"], 1, "partitions 0 to 1, no partition 2"),
        (["--topic", "absent", "--to-earliest"], 1, "UNKNOWN_TOPIC_OR_PARTITION"),
        (["--topic", "{topic}", "--to-offset", "five"], 2, "'five' is not an offset"),
        (["--topic", "{topic}", "--to-offset", "-5"], 2, "'-5' is not an offset"),
        (["--topic", "{topic}", "--to-time", "noon"], 2, "'noon' is not a time"),
        (["--topic", "{topic}", "--shift-by", "far"], 2, "'far' is not a number of records"),
        (["--topic", "{topic}:x", "--to-earliest"], 2, "'x' is not a list of partitions"),
        (["--topic", "{topic}"], 2, "is required"),
        (["--topic", "{topic}", "--to-earliest", "--to-latest"], 2, "--to-earliest and --to-latest can't be combined"),
        (["--to-earliest"], 2, "--topic or --all-topics is required"),
        (["--topic", "{topic}", "--all-topics", "--to-earliest"], 2, "can't be combined"),
    ],
)
def test_a_reset_that_can_not_be_is_named_and_changes_nothing(program, topic, group, options, exit_code, complaint):
    program("consume", topic, "--group", group)
    options = [option.format(topic=topic) for option in options]
    said = program.fails("groups", "reset-offsets", group, *options, "--execute", exit_code=exit_code)
    assert complaint.format(topic=topic) in said
    assert offsets(program, group) == {(topic, 0): 100, (topic, 1): 20}


def test_groups_are_listed_and_deleted(program, topic, group):
    program("consume", topic, "--group", group)
    rows = [json.loads(line) for line in program("groups", "list", "--json").splitlines()]
    assert {"group": group, "state": "Empty", "type": "classic", "protocol_type": "consumer"} in rows
    heads, *lines = program("groups", "list").decode().splitlines()
    assert heads.split() == ["GROUP", "STATE", "TYPE", "PROTOCOL"]
    assert [group, "Empty", "classic", "consumer"] in [line.split() for line in lines]
    assert group in program("groups", "list").decode()
    assert group in program("groups", "list", "--state", "stable", "--state", "empty").decode()
    assert group not in program("groups", "list", "--state", "Stable").decode()
    assert "'Idle' is not one of Empty, " in program.fails("groups", "list", "--state", "Idle", exit_code=2)
    assert program("groups", "delete", group) == f"deleted {group}\n".encode()
    for command in ("describe", "delete", "reset-offsets --all-topics --to-latest"):
        name, *options = command.split()
        said = program.fails("groups", name, group, *options)
        assert "GROUP_ID_NOT_FOUND" in said
        assert "headrace groups list" in said


def show_lag(*arguments):
    command = [sys.executable, "-m", "headrace.cli.main", "groups", "lag", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_of_several_groups_one_that_is_not_there_hides_no_other(program, topic, group):
    program("consume", topic, "--group", group)
    done = program.run("groups", "describe", f"{group}-none", group)
    assert done.returncode == 1
    assert f"group {group}  state Empty" in done.stdout.decode()
    assert f"GROUP_ID_NOT_FOUND: group {group}-none does not exist" in done.stderr.decode()


def test_lag_is_read_from_the_shared_memory_of_a_node_on_this_host(node):
    from tests.cli.program import Program

    program, topic, group = Program(node.bootstrap), f"lag-{uuid.uuid4().hex[:8]}", f"lag-{uuid.uuid4().hex[:8]}"
    program("topics", "create", topic, "--partitions", "2")
    program("produce", topic, stdin=b"".join(b"%d\n" % number for number in range(120)))
    program("consume", topic, "--group", group, "--max-messages", "5")

    def rows_of_group():
        done = show_lag(node.log_dir, group, "--json")
        assert done.returncode == int(not done.stdout), done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    # the coordinator's worker writes rows twice a second: not before it answers
    rows = wait_until(lambda: (rows := rows_of_group()) and sum(row["committed"] for row in rows) == 5 and rows)
    assert {row["topic"] for row in rows} == {topic}
    assert all(row["records"] == row["end"] - row["committed"] for row in rows)
    done = show_lag(node.log_dir, group, f"{group}-none", "--json")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == len(rows), "one that does not exist hides no other"
    assert f"group {group}-none has no committed offset on this node" in done.stderr
    shown = show_lag(node.log_dir).stdout.splitlines()
    assert shown[0].split() == ["GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "SECONDS"]
    assert any(line.split()[0] == group for line in shown)


def test_lag_of_a_directory_without_a_node_is_an_error(tmp_path):
    done = show_lag(tmp_path)
    assert done.returncode == 1
    assert "no node is running on log directory" in done.stderr


def test_what_is_gone_is_no_lag(program, topic, group):
    program("consume", topic, "--group", group, "--max-messages", "1")
    program("groups", "reset-offsets", group, "--topic", topic, "--to-offset", "3", "--execute")
    places = [TopicPartition(topic, 0, 100), TopicPartition(topic, 1, 15)]
    admin = AdminClient({"bootstrap.servers": program.bootstrap})
    for future in admin.delete_records(places).values():
        future.result(DEADLINE_S)
    [found] = program("groups", "describe", group, "--json").splitlines()
    rows = json.loads(found)["partitions"]
    assert [(row["offset"], row["end"], row["lag"]) for row in rows] == [(3, 100, 0), (3, 20, 5)]


def test_a_group_id_with_control_characters_is_shown_escaped(program, topic):
    evil = f"evil\x1b[31m\n{topic}"
    program("consume", topic, "--group", evil)
    shown = f"evil\\x1b[31m\\n{topic}"
    for command in (["groups", "list"], ["groups", "describe", evil]):
        out = program(*command).decode()
        assert shown in out
        assert "\x1b" not in out
