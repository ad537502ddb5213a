"""Groups of the Java client, franz-go, kafkajs and ours: members die by SIGKILL, nothing is left out, nothing done twice."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.mixed_group import faults_of, run_group

pytestmark = pytest.mark.interop

MEMBERS = Path(__file__).parent / "members"
BUILD = Path(__file__).resolve().parent.parent.parent / "build"
FRANZ_GO = "github.com/twmb/franz-go@v1.18.0"
KAFKAJS = "kafkajs@2.2.4"
BUILD_DEADLINE_S = 300


def built(directory, *commands):
    """Run what fetches and builds a member; skip where the machine has no such tool, or no registry."""
    if shutil.which(commands[0][0]) is None:
        pytest.skip(f"{commands[0][0]} is not here")
    for command in commands:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=BUILD_DEADLINE_S)
        if done.returncode:
            pytest.skip(f"{' '.join(command)}: {done.stderr[-500:]}")


@pytest.fixture
def kafkajs():
    directory = BUILD / "kafkajs"
    directory.mkdir(parents=True, exist_ok=True)
    if not (directory / "node_modules" / "kafkajs").is_dir():
        built(directory, ["npm", "install", "--no-audit", "--no-fund", KAFKAJS])
    shutil.copy(MEMBERS / "member.js", directory)
    return ["node", str(directory / "member.js")]


@pytest.fixture
def franz_go():
    directory = BUILD / "franz-go"
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copy(MEMBERS / "member.go", directory)
    steps = (
        []
        if (directory / "go.mod").exists()
        else [["go", "mod", "init", "member"], ["go", "get", FRANZ_GO], ["go", "mod", "tidy"]]
    )
    built(directory, *steps, ["go", "build", "-o", "member", "."])
    return [str(directory / "member")]


@pytest.fixture
def java(tools):
    directory = BUILD / "java-member"
    directory.mkdir(parents=True, exist_ok=True)
    built(directory, ["javac", "-cp", tools.classpath, "-d", str(directory), str(MEMBERS / "Member.java")])
    return ["java", "-Xmx128m", "-cp", f"{directory}:{tools.classpath}", "Member"]


def check(directory, node, command, *options):
    everyone = run_group(
        directory,
        node.bootstrap,
        {"member": lambda topic, group: [*command, node.bootstrap, topic, group, *options]},
        seed=5,
    )
    assert not faults_of(everyone)
    assert sum(any("committed" in line for line in member.lines()) for member in everyone) >= 2


def test_a_group_of_kafkajs(node, tmp_path, kafkajs):
    check(tmp_path, node, kafkajs)


def test_a_group_of_franz_go(node, tmp_path, franz_go):
    check(tmp_path, node, franz_go)


@pytest.mark.parametrize(
    "assignor", ["RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor"]
)
def test_a_group_of_the_java_client(node, tmp_path, java, assignor):
    check(tmp_path, node, java, assignor)


MEMBER = [sys.executable, str(Path(__file__).parent.parent / "e2e" / "group_member.py")]
ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


def check_together(directory, node, assignor, others):
    """Our members and others in turn, in one group."""
    commands = {"ours": lambda topic, group: [*MEMBER, "headrace", node.bootstrap, topic, group, assignor], **others}
    everyone = run_group(directory, node.bootstrap, commands, seed=6)
    assert not faults_of(everyone)
    assert sum(any("committed" in line for line in member.lines()) for member in everyone) >= 2


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_ours_beside_the_java_client(node, tmp_path, java, assignor):
    others = {"java": lambda topic, group: [*java, node.bootstrap, topic, group, ASSIGNORS[assignor]]}
    check_together(tmp_path, node, assignor, others)


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "cooperative-sticky"])
def test_ours_beside_librdkafka(node, tmp_path, assignor):
    command = [*MEMBER, "confluent", node.bootstrap]
    check_together(tmp_path, node, assignor, {"librdkafka": lambda topic, group: [*command, topic, group, assignor]})


def test_ours_beside_franz_go(node, tmp_path, franz_go):
    check_together(
        tmp_path, node, "cooperative-sticky", {"franz": lambda topic, group: [*franz_go, node.bootstrap, topic, group]}
    )
