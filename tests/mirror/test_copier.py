"""When a copy up to the present ends is done: not while a source is away, nor before its topics were looked at."""

from types import SimpleNamespace

from headrace.client.connection import ConnectionFailed
from headrace.mirror.copier import FIRST_LOOK_S, Copier
from headrace.mirror.settings import read_settings


class FakeCluster:
    """Without topics. `is_there`: it responds."""

    cluster_id = "id"

    def __init__(self):
        self.is_there = True
        self.partitions, self.topic_ids, self.internal_topics = {}, {}, set()

    def refresh(self, _topics):
        if not self.is_there:
            raise ConnectionFailed("no broker responded")


def test_it_is_not_caught_up_while_a_source_is_away():
    given = {"mirror.source.bootstrap.servers": "a:1|b:1", "mirror.target.bootstrap.servers": "c:1"}
    made = []

    def open_cluster(_bootstrap):
        made.append(FakeCluster())
        return made[-1]

    clock = SimpleNamespace(now_s=100.0)
    copier = Copier(read_settings(None, given), 0, open_cluster, lambda: False, lambda: clock.now_s, lambda: 0)
    copier.target.cluster_id = "target"
    clock.now_s += FIRST_LOOK_S
    assert not copier.is_caught_up(), "no source was looked at"
    copier.sources[1].cluster.is_there = False
    copier._discover(clock.now_s)
    assert not copier.is_caught_up(), "one was looked at, the other one is away"
    copier.sources[1].cluster.is_there = True
    clock.now_s += 1.0
    copier._discover(clock.now_s)
    assert copier.is_caught_up()
    copier.sources[0].cluster.is_there = False
    assert not copier.sources[0].responds()
    assert not copier.is_caught_up(), "one went away"
