import pytest

from headrace.controller.agent.meta_properties import FILE, check_or_write
from headrace.errors import ConfigError

CLUSTER = "Sfr7YvlkRHSHrmSrwq9mug"


def test_it_is_written_where_it_is_absent_and_accepted_from_then_on(tmp_path):
    check_or_write(tmp_path, CLUSTER, 3)
    assert (tmp_path / FILE).read_text().splitlines()[1:] == ["version=0", "broker.id=3", f"cluster.id={CLUSTER}"]
    check_or_write(tmp_path, CLUSTER, 3)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_kafkas_own_file_is_accepted(tmp_path):
    (tmp_path / FILE).write_text(f"#\n#Mon Jul 01 16:28:46 UTC 2024\ncluster.id={CLUSTER}\nversion=0\nbroker.id=3\n")
    check_or_write(tmp_path, CLUSTER, 3)


def test_another_cluster_is_refused_with_both_ids_and_the_way_out(tmp_path):
    check_or_write(tmp_path, CLUSTER, 3)
    with pytest.raises(ConfigError, match=r"Sfr7.* ZooKeeper says other: point zookeeper.connect at"):
        check_or_write(tmp_path, "other", 3)


def test_another_broker_is_refused_with_both_ids_and_the_way_out(tmp_path):
    check_or_write(tmp_path, CLUSTER, 3)
    with pytest.raises(ConfigError, match=r"belongs to broker 3, broker.id is 4: set broker.id=3"):
        check_or_write(tmp_path, CLUSTER, 4)


def test_a_directory_of_kraft_mode_is_refused(tmp_path):
    (tmp_path / FILE).write_text(f"version=1\nnode.id=3\ncluster.id={CLUSTER}\n")
    with pytest.raises(ConfigError, match="KRaft"):
        check_or_write(tmp_path, CLUSTER, 3)


def test_nobody_but_the_group_may_read_it(tmp_path):
    check_or_write(tmp_path, "c", 1)
    assert (tmp_path / FILE).stat().st_mode & 0o027 == 0


def test_bytes_that_are_no_properties_are_refused_by_name(tmp_path):
    (tmp_path / FILE).write_bytes(b"broker.id=\\u00\xff\n")
    with pytest.raises(ConfigError, match=r"for log.dirs: .*meta.properties can't be read"):
        check_or_write(tmp_path, "c", 1)
