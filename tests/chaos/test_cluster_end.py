"""What is left over at the end of a round, told apart by what lies in it."""

from pathlib import Path
from types import SimpleNamespace

from headrace.log.state.checkpoints import PARTITION_METADATA_FILE
from tests.chaos import cluster_end
from tests.chaos.cluster_end import find_left_over
from tests.chaos.cluster_stage import LOST_PAGES, ClusterStage
from tests.chaos.cluster_state import ClusterState


class State(ClusterState):
    """ZooKeeper has one topic, on node 1."""

    def __init__(self):
        pass

    def topics(self):
        return ["t"]

    def assignment(self, topic):
        return {0: [1]}


def left_over(path: Path, monkeypatch, lost_pages: int):
    monkeypatch.setattr(cluster_end, "GONE_S", 0.0)
    node = SimpleNamespace(number=1, log_dirs=[path])
    stage = ClusterStage(path, None, [node], None, State(), None)
    stage.notes[LOST_PAGES] = lost_pages
    return find_left_over(stage), stage.notes


def test_segments_behind_a_hole_that_a_loss_of_power_left_are_counted_and_a_replica_is_left_over(tmp_path, monkeypatch):
    (tmp_path / "t-0").mkdir()
    segments = tmp_path / "t-0.0123456789abcdef0123456789abcdef-stray"
    segments.mkdir()
    (segments / "00000000000000000007.log").touch()
    assert left_over(tmp_path, monkeypatch, 1) == ([], {LOST_PAGES: 1, **counted(moved=0, segments=1)})
    assert len(left_over(tmp_path, monkeypatch, 0)[0]) == 1
    (segments / PARTITION_METADATA_FILE).touch()
    assert len(left_over(tmp_path, monkeypatch, 1)[0]) == 1


def counted(moved, segments):
    return {
        "files of replicas that were moved away while their node was away": moved,
        "segments put aside after a loss of power": segments,
    }
