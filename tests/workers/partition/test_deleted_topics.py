"""Committed offsets of topics that are deleted, that come back, or that another one has the name of."""

from headrace.shm.partition_table import RowState
from headrace.workers.coordinators.group import deleted_topics
from headrace.workers.partition.coordination import coordinator_host
from tests.workers.partition.host_rig import GONE, NODE, fill


def test_a_topic_that_is_merely_not_in_the_view_keeps_its_offsets(rig):
    rig.load()
    rig.commit(7)
    rig.host.do_work()
    end_offset = rig.log.log_end_offset
    rig.follow(topics=())
    rig.host.do_work()
    assert rig.host.has_followed
    assert rig.log.log_end_offset == end_offset
    assert rig.error_of(rig.commit(8)) == "UNKNOWN_TOPIC_OR_PARTITION"
    rig.follow()
    assert rig.committed() == 7


def test_a_deleted_topic_takes_its_offsets_along(rig):
    rig.load()
    rig.commit(7)
    rig.host.do_work()
    rig.follow(topics=(), deleted=GONE)
    assert not rig.host.has_followed
    rig.host.do_work()
    assert rig.host.has_followed
    assert rig.committed() == -1
    rig.new_host()
    rig.load()
    assert rig.committed() == -1


def test_what_is_deleted_once_is_not_deleted_again_while_the_view_says_so(rig):
    rig.load()
    rig.follow(topics=(), deleted=GONE)
    rig.host.do_work()
    rig.follow(deleted=[("other", "id9"), *GONE], topic_id="id2")
    rig.commit(3)
    rig.host.do_work()
    rig.follow(deleted=GONE, topic_id="id2")
    rig.host.do_work()
    assert rig.committed() == 3


def test_another_topic_of_the_name_has_none_of_its_offsets(rig):
    rig.load()
    rig.commit(7)
    rig.host.do_work()
    rig.follow(topics=())
    rig.follow(topic_id="")  # from before ids: it may be the same
    rig.host.do_work()
    assert rig.committed() == 7
    rig.follow(topic_id="id2")
    rig.host.do_work()
    assert rig.host.has_followed
    assert rig.committed() == -1
    rig.new_host()
    rig.load()
    assert rig.committed() == -1


def test_offsets_of_a_topic_deleted_while_they_are_read_go_when_they_were_read(rig, monkeypatch):
    rig.load()
    rig.commit(7)
    rig.host.do_work()
    fill(rig, 20)
    monkeypatch.setattr(coordinator_host, "LOAD_BYTES_PER_CYCLE", 1_000)
    monkeypatch.setattr("headrace.workers.partition.coordination.log_slices.SLICE_BYTES", 1_000)
    rig.new_host()
    rig.follow()
    rig.host.do_work()
    assert rig.host.by_partition[0].coordinator.is_loading
    for _ in range(2):
        rig.follow(topics=(), deleted=GONE)
        rig.host.do_work()
        assert not rig.host.has_followed
        assert rig.host.by_partition[0].coordinator.is_loading
    while not rig.host.has_followed:
        rig.host.do_work()
    assert not rig.host.by_partition[0].coordinator.is_loading
    assert rig.committed() == -1


def test_a_worker_that_died_before_it_had_forgotten_a_topic_begins_again(rig):
    rig.load()
    rig.commit(7)
    rig.host.do_work()
    rig.follow(topics=(), deleted=GONE)
    rig.new_host()
    rig.follow(topics=(), deleted=GONE)
    assert not rig.host.has_followed
    while not rig.host.has_followed:
        rig.host.do_work()
    assert rig.committed() == -1


def test_offsets_that_can_not_be_removed_are_removed_later(rig, caplog):
    rig.load()
    rig.commit(7)
    rig.host.do_work()
    rig.replica.min_insync_replicas = 2
    rig.follow(topics=(), deleted=GONE)
    for _ in range(5):
        rig.host.do_work()
    assert not rig.host.has_followed
    assert caplog.text.count("offsets of deleted topics not removed") == 1
    rig.replica.min_insync_replicas = 1
    rig.host.clock.now_ms += deleted_topics.RETRY_MS
    rig.host.do_work()
    assert rig.host.has_followed
    rig.new_host()
    rig.load()
    assert rig.committed() == -1


def test_further_deletions_wait_for_the_retry_of_those_that_failed(rig, caplog):
    rig.load()
    rig.follow(topics=("t", "t2"))
    rig.commit(7)
    rig.host.do_work()
    rig.replica.min_insync_replicas = 2
    rig.follow(topics=("t2",), deleted=GONE)
    rig.host.do_work()
    rig.follow(topics=(), deleted=[*GONE, ("t2", "id1")])
    rig.host.do_work()
    assert caplog.text.count("offsets of deleted topics not removed") == 1
    rig.replica.min_insync_replicas = 1
    rig.host.clock.now_ms += deleted_topics.RETRY_MS - 1
    rig.host.do_work()
    assert not rig.host.has_followed
    rig.host.clock.now_ms += 1
    rig.host.do_work()
    assert rig.host.has_followed, "both in one pass"


def test_the_view_is_followed_when_the_other_replicas_have_the_tombstones_and_a_commit_before_them_does_not_stay(rig):
    rig.load()
    rig.lead(isr=(NODE, 1))
    got = rig.commit(7)
    rig.host.do_work()
    rig.follow(topics=(), deleted=GONE)
    rig.host.do_work()
    assert not rig.host.has_followed
    rig.replica.move_high_watermark(rig.log.log_end_offset)
    rig.moved.tell()
    rig.host.do_work()
    assert rig.error_of(got) == "NONE"
    assert rig.host.has_followed
    assert rig.committed() == -1


def test_a_partition_that_this_worker_leads_no_more_is_waited_for_no_more(rig):
    rig.load()
    rig.commit(7)
    rig.lead(isr=(NODE, 1))
    rig.follow(topics=(), deleted=GONE)
    rig.host.do_work()
    assert not rig.host.has_followed
    rig.replica.state = RowState.FOLLOWER
    rig.follow(topics=(), deleted=GONE)
    assert rig.host.has_followed


def test_topics_deleted_together_cost_one_look_at_each_offset(rig):
    class Watched(dict):
        looks = 0

        def __iter__(self):
            Watched.looks += 1
            return super().__iter__()

    rig.load()
    rig.follow(topics=["t", *(f"t{number}" for number in range(50))])
    rig.commit(7)
    rig.host.do_work()
    group = rig.host.by_partition[0].coordinator.groups["g"]
    group.offsets = Watched(group.offsets)
    rig.follow(topics=["t"], deleted=[(f"t{number}", "id1") for number in range(50)])
    rig.host.do_work()
    assert Watched.looks == 1
    assert rig.committed() == 7
