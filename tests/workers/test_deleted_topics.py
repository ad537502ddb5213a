"""Committed offsets of topics that are deleted, that come back, or that another one has the name of."""

from host_bench import GONE, NODE, fill

from headrace.shm.partition_table import RowState
from headrace.workers.coordinators import deleted_topics
from headrace.workers.partition import coordinator_host


def test_a_topic_that_is_merely_not_in_the_view_keeps_its_offsets(bench):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    end_offset = bench.log.log_end_offset
    bench.follow(topics=())
    bench.host.do_work()
    assert bench.host.has_followed
    assert bench.log.log_end_offset == end_offset
    assert bench.error_of(bench.commit(8)) == "UNKNOWN_TOPIC_OR_PARTITION"
    bench.follow()
    assert bench.committed() == 7


def test_a_deleted_topic_takes_its_offsets_along(bench):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    bench.follow(topics=(), deleted=GONE)
    assert not bench.host.has_followed
    bench.host.do_work()
    assert bench.host.has_followed
    assert bench.committed() == -1
    bench.new_host()
    bench.load()
    assert bench.committed() == -1


def test_what_is_deleted_once_is_not_deleted_again_while_the_view_says_so(bench):
    bench.load()
    bench.follow(topics=(), deleted=GONE)
    bench.host.do_work()
    bench.follow(deleted=[("other", "id9"), *GONE], topic_id="id2")
    bench.commit(3)
    bench.host.do_work()
    bench.follow(deleted=GONE, topic_id="id2")
    bench.host.do_work()
    assert bench.committed() == 3


def test_another_topic_of_the_name_has_none_of_its_offsets(bench):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    bench.follow(topics=())
    bench.follow(topic_id="")  # from before ids: it may be the same
    bench.host.do_work()
    assert bench.committed() == 7
    bench.follow(topic_id="id2")
    bench.host.do_work()
    assert bench.host.has_followed
    assert bench.committed() == -1
    bench.new_host()
    bench.load()
    assert bench.committed() == -1


def test_offsets_of_a_topic_deleted_while_they_are_read_go_when_they_were_read(bench, monkeypatch):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    fill(bench, 20)
    monkeypatch.setattr(coordinator_host, "LOAD_BYTES_PER_CYCLE", 1_000)
    monkeypatch.setattr("headrace.workers.partition.log_slices.SLICE_BYTES", 1_000)
    bench.new_host()
    bench.follow()
    bench.host.do_work()
    assert bench.host.by_partition[0].coordinator.is_loading
    for _ in range(2):
        bench.follow(topics=(), deleted=GONE)
        bench.host.do_work()
        assert not bench.host.has_followed
        assert bench.host.by_partition[0].coordinator.is_loading
    while not bench.host.has_followed:
        bench.host.do_work()
    assert not bench.host.by_partition[0].coordinator.is_loading
    assert bench.committed() == -1


def test_a_worker_that_died_before_it_had_forgotten_a_topic_begins_again(bench):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    bench.follow(topics=(), deleted=GONE)
    bench.new_host()
    bench.follow(topics=(), deleted=GONE)
    assert not bench.host.has_followed
    while not bench.host.has_followed:
        bench.host.do_work()
    assert bench.committed() == -1


def test_offsets_that_can_not_be_removed_are_removed_later(bench, caplog):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    bench.replica.min_insync_replicas = 2
    bench.follow(topics=(), deleted=GONE)
    for _ in range(5):
        bench.host.do_work()
    assert not bench.host.has_followed
    assert caplog.text.count("offsets of deleted topics not removed") == 1
    bench.replica.min_insync_replicas = 1
    bench.host.clock.now_ms += deleted_topics.RETRY_MS
    bench.host.do_work()
    assert bench.host.has_followed
    bench.new_host()
    bench.load()
    assert bench.committed() == -1


def test_further_deletions_wait_for_the_retry_of_those_that_failed(bench, caplog):
    bench.load()
    bench.follow(topics=("t", "t2"))
    bench.commit(7)
    bench.host.do_work()
    bench.replica.min_insync_replicas = 2
    bench.follow(topics=("t2",), deleted=GONE)
    bench.host.do_work()
    bench.follow(topics=(), deleted=[*GONE, ("t2", "id1")])
    bench.host.do_work()
    assert caplog.text.count("offsets of deleted topics not removed") == 1
    bench.replica.min_insync_replicas = 1
    bench.host.clock.now_ms += deleted_topics.RETRY_MS - 1
    bench.host.do_work()
    assert not bench.host.has_followed
    bench.host.clock.now_ms += 1
    bench.host.do_work()
    assert bench.host.has_followed, "both in one pass"


def test_the_view_is_followed_when_the_other_replicas_have_the_tombstones_and_a_commit_before_them_does_not_stay(bench):
    bench.load()
    bench.lead(isr=(NODE, 1))
    got = bench.commit(7)
    bench.host.do_work()
    bench.follow(topics=(), deleted=GONE)
    bench.host.do_work()
    assert not bench.host.has_followed
    bench.replica.move_high_watermark(bench.log.log_end_offset)
    bench.moved.tell()
    bench.host.do_work()
    assert bench.error_of(got) == "NONE"
    assert bench.host.has_followed
    assert bench.committed() == -1


def test_a_partition_that_this_worker_leads_no_more_is_waited_for_no_more(bench):
    bench.load()
    bench.commit(7)
    bench.lead(isr=(NODE, 1))
    bench.follow(topics=(), deleted=GONE)
    bench.host.do_work()
    assert not bench.host.has_followed
    bench.replica.state = RowState.FOLLOWER
    bench.follow(topics=(), deleted=GONE)
    assert bench.host.has_followed


def test_topics_deleted_together_cost_one_look_at_each_offset(bench):
    class Watched(dict):
        looks = 0

        def __iter__(self):
            Watched.looks += 1
            return super().__iter__()

    bench.load()
    bench.follow(topics=["t", *(f"t{number}" for number in range(50))])
    bench.commit(7)
    bench.host.do_work()
    group = bench.host.by_partition[0].coordinator.groups["g"]
    group.offsets = Watched(group.offsets)
    bench.follow(topics=["t"], deleted=[(f"t{number}", "id1") for number in range(50)])
    bench.host.do_work()
    assert Watched.looks == 1
    assert bench.committed() == 7
