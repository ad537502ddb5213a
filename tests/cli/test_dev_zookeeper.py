"""Which ZooKeeper `headrace dev` starts, and that a machine with only Python serves."""

import os
import subprocess
import sys

import pytest

from headrace.cli.dev_zookeeper import NOTICE, own_zookeeper
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.errors import ConfigError
from headrace.node import embedded_zookeeper
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.testing.zookeeper.child import ForkedZooKeeper
from headrace.testing.zookeeper.journal import FILE
from tests.support import children


@pytest.fixture
def java(monkeypatch):
    """Found, or not found."""

    def be(is_there):
        def find():
            if not is_there:
                raise ConfigError("java", None, "not on the PATH")
            return "java"

        monkeypatch.setattr(embedded_zookeeper, "find_java", find)
        monkeypatch.setattr(embedded_zookeeper, "find_jars", list)

    return be


def test_with_java_it_is_apaches(java, tmp_path, capsys):
    java(True)
    server, settings = own_zookeeper(tmp_path)
    assert isinstance(server, EmbeddedZooKeeper)
    assert settings == {}
    assert capsys.readouterr().err == ""


def test_without_java_it_is_the_one_in_python_and_that_is_said(java, tmp_path, capsys):
    java(False)
    server, settings = own_zookeeper(tmp_path)
    assert isinstance(server, ForkedZooKeeper)
    assert settings == {"headrace.testing.zookeeper": "true"}
    assert capsys.readouterr().err == f"{NOTICE}\n"


def test_a_directory_stays_with_the_kind_that_it_began_with(java, tmp_path):
    java(True)
    (tmp_path / FILE).touch()
    assert isinstance(own_zookeeper(tmp_path)[0], ForkedZooKeeper)


def test_data_of_apaches_are_not_left_aside(java, tmp_path):
    java(False)
    (tmp_path / "data").mkdir()
    with pytest.raises(ConfigError, match="holds data of Apache ZooKeeper"):
        own_zookeeper(tmp_path)


def start(directory, empty, *options):
    command = [sys.executable, "-m", "headrace.cli.main", "dev", "--dir", str(directory), "--port", "0", *options]
    process = children.start(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": str(empty)},
    )
    ready = process.stdout.readline().split()
    assert ready[0] == "ready", process.communicate()
    return process, dict(word.split("=", 1) for word in ready[1:])


def end(process):
    code = children.end(process)
    errors = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    return code, errors


@pytest.mark.process
@pytest.mark.parametrize("options", [(), ("--nodes", "2")], ids=["one node", "two nodes"])
def test_a_node_serves_without_java_and_keeps_its_topics(tmp_path, options):
    empty = tmp_path / "empty"
    empty.mkdir()
    for round_ in range(2):
        process, ready = start(tmp_path / "dev", empty, *options)
        try:
            with Cluster(ready["bootstrap"]) as cluster:
                topics = set(cluster.refresh(None))
                if not round_:
                    assert set(Admin(cluster).create_topics([NewTopic("kept", 1, 1)]).values()) <= {None}
        finally:
            code, errors = end(process)
        assert code == 0, errors
        assert NOTICE in errors
        assert ("kept" in topics) == bool(round_)
