"""What group coordinators have beside their host: lag rows of what they commit, counters of rebalances."""

from headrace.shm import counters
from tests.workers.partition.host_rig import GONE, join


def test_committed_offsets_stand_in_the_lag_table(rig):
    rig.load()
    rig.commit(5)
    rig.commit(6)
    rig.commit(1, "other", 3)
    rig.host.do_work()
    assert [(row.group, row.topic, row.partition, row.committed) for row in rig.lags.rows()] == [
        ("g", "t", 0, 6),
        ("other", "t", 3, 1),
    ]
    rig.commit(9)
    rig.host.do_work()
    assert next(rig.lags.rows()).committed == 6, "written twice a second, not at each commit"
    rig.host.clock.now_ms += 500
    rig.host.do_work()
    assert next(rig.lags.rows()).committed == 9
    rig.new_host()
    assert not list(rig.lags.rows()), "a successor begins with an empty section"
    rig.load()
    rig.host.do_work()
    assert [row.committed for row in rig.lags.rows()] == [9, 1]
    rig.follow(topics=(), deleted=GONE)
    rig.host.do_work()
    rig.host.clock.now_ms += 500
    rig.host.do_work()
    assert not list(rig.lags.rows()), "the topic is gone"


def test_rebalances_are_counted_by_their_reason(rig):
    rig.load()
    join(rig)
    rig.host.clock.now_ms += 3_000
    rig.host.do_work()
    names = [counters.NAMES[index] for index in rig.counted]
    assert names.count("group_rebalances") == names.count("rebalances_joined") == 1
