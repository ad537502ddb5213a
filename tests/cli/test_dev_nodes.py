"""`headrace dev --nodes` up to the point where nodes would run: directories of either kind, the order, what is printed."""

import pytest

from headrace.cli import dev
from headrace.errors import ConfigError

pytestmark = pytest.mark.usefixtures("root_logger_as_before")
ADDRESSES = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]


@pytest.fixture
def happened(monkeypatch, events):
    """What happened, in order, with a fake for the cluster."""

    class FakeCluster:
        def __init__(self, nodes, *, on_ready, on_tick):
            events.append(("nodes", nodes))
            self._on_ready, self._on_tick = on_ready, on_tick

        def run(self):
            self._on_ready(ADDRESSES)
            if self._on_tick is not None:
                self._on_tick(5)
            return 1

    monkeypatch.setattr("headrace.node.local_cluster.LocalCluster", FakeCluster)
    return events


def test_zookeeper_starts_first_and_stops_last(happened, tmp_path, capsys):
    assert dev.dev(directory=tmp_path, nodes=3, port=9000) == 1
    assert [event[0] for event in happened] == ["zookeeper started", "nodes", "zookeeper checked", "zookeeper stopped"]
    settings = happened[1][1]
    assert [one["zookeeper.connect"] for one in settings] == ["127.0.0.1:2222"] * 3
    assert [one["listeners"][0] for one in settings] == [f"PLAINTEXT://127.0.0.1:{port}" for port in (9000, 9001, 9002)]
    ready, hint = capsys.readouterr().out.splitlines()
    assert ready == f"ready bootstrap={','.join(ADDRESSES)} zookeeper=127.0.0.1:2222 dir={tmp_path}"
    assert f"kcat -b {','.join(ADDRESSES)} " in hint


def test_a_zookeeper_of_ones_own_is_used_and_settings_are_of_all_nodes(happened, tmp_path):
    dev.dev(directory=tmp_path, nodes=2, zookeeper="zk:2181/chroot", changes=["num.partitions=3"])
    [(_what, settings)] = happened
    assert [one["zookeeper.connect"] for one in settings] == ["zk:2181/chroot"] * 2
    assert [one["num.partitions"] for one in settings] == [3, 3]


def test_a_directory_of_one_kind_is_not_taken_for_the_other(happened, tmp_path):
    (tmp_path / "one" / "logs").mkdir(parents=True)
    with pytest.raises(ConfigError, match="run it without --nodes"):
        dev.dev(directory=tmp_path / "one", nodes=3)
    (tmp_path / "several" / "node-0").mkdir(parents=True)
    with pytest.raises(ConfigError, match="run them with --nodes"):
        dev.dev(directory=tmp_path / "several")
    assert happened == []


def test_nodes_that_are_left_out_are_named(happened, tmp_path, capsys):
    for node_id in range(3):
        (tmp_path / f"node-{node_id}").mkdir()
    dev.dev(directory=tmp_path, nodes=2)
    assert "their partitions are offline nodes=node-2" in capsys.readouterr().err


def test_a_bad_setting_shows_before_anything_starts(happened, tmp_path):
    for change in ("num.partitions=-1", "broker.id=4", "listeners=PLAINTEXT://:1", "log.dirs=/x"):
        with pytest.raises(ConfigError, match=change.partition("=")[0]):
            dev.dev(directory=tmp_path, nodes=3, changes=[change])
    assert happened == []
