"""Admin clients that use the newest versions: Kafka's own in Java, call by call, and @platformatic/kafka on Node."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.interop

ADMIN_CALLS = Path(__file__).parent / "AdminCalls.java"
PLATFORMATIC = Path(__file__).parent / "platformatic.mjs"
PLATFORMATIC_VERSION = "1.35.0"
NPM_DEADLINE_S = 300

# What Apache Kafka 3.9 answers to the same program
ANSWERS = {
    "created id": "true",
    "described id": "true",
    "described by id": "true",
    "producers": "1 1 false",
    "cluster operations": "[CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE]",
    "topic operations": "[READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS]",
    "acls": "SecurityDisabledException",
    "reassignments": "{}",
    "cancel": "NoReassignmentInProgressException",
    "stay": "null",
    "move away": "InvalidReplicaAssignmentException",
    "elect": "ElectionNotNeededException",
    "elect all": "{}",
    "quotas": "{}",
    "scram users": "{}",
    "scram user": "{bob=UserScramCredentialsDescription{name='bob', credentialInfos=[]}}",
    "transactions": "[]",
    "earliest local": "0",
    "latest tiered": "-1",
    "no default": "0",
    "set default": "null",
    "default": "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "unset default": "null",
    "loggers": "true",
    "deleted by id": "null",
    "deleted again": "UnknownTopicIdException",  # Kafka still has its id, as it deletes it: UnknownTopicOrPartition
}


def test_java_s_admin_is_answered_as_kafka_answers_it(node, tools, topic):
    said = tools.run(str(ADMIN_CALLS), node.bootstrap, topic).decode()
    assert dict(line.split("\t") for line in said.splitlines()) == ANSWERS


@pytest.fixture(scope="session")
def platformatic(tmp_path_factory):
    """A directory with the package installed."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    directory = tmp_path_factory.mktemp("platformatic")
    package = f"@platformatic/kafka@{PLATFORMATIC_VERSION}"
    done = subprocess.run(
        ["npm", "install", "--silent", package], cwd=directory, capture_output=True, timeout=NPM_DEADLINE_S
    )
    if done.returncode:
        pytest.skip(f"{package} can't be installed: {done.stderr.decode(errors='replace')[-500:]}")
    shutil.copy(PLATFORMATIC, directory)
    return directory


def test_platformatic_makes_reads_and_deletes_a_topic(node, platformatic, topic):
    command = ["node", PLATFORMATIC.name, node.bootstrap, topic]
    done = subprocess.run(command, cwd=platformatic, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    said = json.loads(done.stdout)
    assert (said["name"], said["partitions"], said["offsets"], said["left"]) == (topic, 2, [[1, 0]], False)
    assert said["read"] == [topic, 1, "k", "v"]
    assert said["id"].replace("-", "").strip("0")
