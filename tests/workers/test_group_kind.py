"""What group coordinators have beside their host: lag rows of what they commit, counters of rebalances."""

from host_bench import GONE, join

from headrace.shm import counters


def test_committed_offsets_stand_in_the_lag_table(bench):
    bench.load()
    bench.commit(5)
    bench.commit(6)
    bench.commit(1, "other", 3)
    bench.host.do_work()
    assert [(row.group, row.topic, row.partition, row.committed) for row in bench.lags.rows()] == [
        ("g", "t", 0, 6),
        ("other", "t", 3, 1),
    ]
    bench.commit(9)
    bench.host.do_work()
    assert next(bench.lags.rows()).committed == 6, "written twice a second, not at each commit"
    bench.host.clock.now_ms += 500
    bench.host.do_work()
    assert next(bench.lags.rows()).committed == 9
    bench.new_host()
    assert not list(bench.lags.rows()), "a successor begins with an empty section"
    bench.load()
    bench.host.do_work()
    assert [row.committed for row in bench.lags.rows()] == [9, 1]
    bench.follow(topics=(), deleted=GONE)
    bench.host.do_work()
    bench.host.clock.now_ms += 500
    bench.host.do_work()
    assert not list(bench.lags.rows()), "the topic is gone"


def test_rebalances_are_counted_by_their_reason(bench):
    bench.load()
    join(bench)
    bench.host.clock.now_ms += 3_000
    bench.host.do_work()
    names = [counters.NAMES[index] for index in bench.counted]
    assert names.count("group_rebalances") == names.count("rebalances_joined") == 1
