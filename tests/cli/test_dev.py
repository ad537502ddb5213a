"""`headrace dev` up to the point where a node would run: settings, the order of locks and ZooKeeper."""

import pytest

from headrace.cli import dev
from headrace.errors import ConfigError
from headrace.node.log_dirs import LogDirs

pytestmark = pytest.mark.usefixtures("root_logger_as_before")


@pytest.fixture
def happened(monkeypatch, events):
    """What dev did, in order, with a fake for the supervisor."""

    class FakeSupervisor:
        def __init__(self, settings, *, on_ready, on_tick, log_dirs, directory):
            events.append(("node", settings, directory))
            self._on_ready = on_ready
            self._on_tick = on_tick

        def run(self):
            self._on_ready("127.0.0.1:9092")
            if self._on_tick is not None:
                self._on_tick(5)
            return 0

    monkeypatch.setattr("headrace.node.supervisor.Supervisor", FakeSupervisor)
    return events


def test_zookeeper_starts_before_the_node_and_stops_after_it(happened, tmp_path, capsys):
    assert dev.dev(directory=tmp_path, port=0) == 0
    started, node, checked, stopped = happened
    assert checked == ("zookeeper checked", 5)
    assert started == ("zookeeper started", tmp_path / "zookeeper")
    assert stopped == ("zookeeper stopped", tmp_path / "zookeeper")
    _what, settings, directory = node
    assert settings["zookeeper.connect"] == "127.0.0.1:2222"
    assert settings["listeners"] == ("PLAINTEXT://127.0.0.1:0",)
    assert settings["log.dirs"] == (str(tmp_path / "logs"),)
    assert directory == str(tmp_path)
    assert capsys.readouterr().out.startswith("try: echo hello | kcat -b 127.0.0.1:9092 ")


def test_a_zookeeper_of_ones_own_is_used_and_none_is_started(happened, tmp_path):
    dev.dev(directory=tmp_path, zookeeper="zk:2181/chroot")
    [(_what, settings, _directory)] = happened
    assert settings["zookeeper.connect"] == "zk:2181/chroot"


def test_no_address_of_a_zookeeper_means_the_embedded_one(happened, tmp_path):
    dev.dev(directory=tmp_path, zookeeper="127.0.0.1:1")
    dev.dev(directory=tmp_path, changes=["zookeeper.connect=127.0.0.1:1"])
    assert [(event[0], event[1]["zookeeper.connect"]) for event in happened] == [("node", "127.0.0.1:1")] * 2


def test_changes_win_over_arguments(happened, tmp_path):
    dev.dev(directory=tmp_path, port=1, changes=["listeners=PLAINTEXT://:2", "num.partitions=3"])
    settings = happened[1][1]
    assert settings["listeners"] == ("PLAINTEXT://:2",)
    assert settings["num.partitions"] == 3


def test_zookeeper_is_stopped_where_the_node_fails(happened, tmp_path, monkeypatch):
    def fail(_self):
        raise ConfigError("k", "v", "reason")

    monkeypatch.setattr("headrace.node.supervisor.Supervisor.run", fail)
    with pytest.raises(ConfigError):
        dev.dev(directory=tmp_path)
    assert [event[0] for event in happened] == ["zookeeper started", "node", "zookeeper stopped"]


def test_no_zookeeper_starts_on_the_data_of_another_node(happened, tmp_path, monkeypatch):
    def refuse(_self):
        raise ConfigError("log.dirs", "d", "in use by pid 1")

    monkeypatch.setattr(LogDirs, "lock", refuse)
    with pytest.raises(ConfigError, match="in use by pid 1"):
        dev.dev(directory=tmp_path)
    assert happened == []


def test_a_bad_setting_shows_before_anything_starts(happened, tmp_path):
    with pytest.raises(ConfigError):
        dev.dev(directory=tmp_path, changes=["num.partitions=-1"])
    assert happened == []
    assert not (tmp_path / "logs").exists()
