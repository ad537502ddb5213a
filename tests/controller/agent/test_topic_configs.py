import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.controller.agent import topic_configs
from headrace.controller.agent.topic_configs import (
    Operation,
    alter,
    changed,
    check_configs,
    check_overrides,
    purge,
    replaced,
)
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import Node as Znode
from headrace.controller.zookeeper.errors import ZkConflict, ZkLost
from headrace.errors import ErrorCode, KafkaError
from headrace.settings import Settings

SETTINGS = Settings({"log.dirs": "/x"})
SET, DELETE, APPEND, SUBTRACT = Operation


def code_of(call, *arguments):
    with pytest.raises(KafkaError) as failure:
        call(*arguments)
    return failure.value.code


def make(node, name, configs=None):
    node.create(name, ((0,),), configs or {})


def alter_topic(node, change, is_trial):
    return node.run(alter(node.zk, znodes.topic_config_path("t"), change, is_trial, znodes.topic_path("t")))


def test_operations_set_delete_append_and_subtract():
    current = {"retention.ms": "1", "cleanup.policy": "delete"}
    assert changed(current, [("retention.ms", SET, "2")], SETTINGS)["retention.ms"] == "2"
    assert changed(current, [("retention.ms", DELETE, None)], SETTINGS) == {"cleanup.policy": "delete"}
    assert changed(current, [("segment.ms", DELETE, None)], SETTINGS) == current
    assert changed(current, [("no.such.key", DELETE, None)], SETTINGS) == current
    assert (
        changed(current, [("cleanup.policy", APPEND, "compact,delete")], SETTINGS)["cleanup.policy"] == "delete,compact"
    )
    both = {"cleanup.policy": "delete,compact"}
    assert changed(both, [("cleanup.policy", SUBTRACT, "delete")], SETTINGS) == {"cleanup.policy": "compact"}
    assert changed({}, [("cleanup.policy", APPEND, "compact")], SETTINGS) == {"cleanup.policy": "delete,compact"}
    assert current == {"retention.ms": "1", "cleanup.policy": "delete"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", 4, "1"), ErrorCode.INVALID_REQUEST),
        (("no.such.key", SET, "1"), ErrorCode.INVALID_CONFIG),
        (("no.such.key", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("cleanup.policy", APPEND, "compress"), ErrorCode.INVALID_CONFIG),
    ],
)
def test_what_can_not_be_is_refused_with_its_key(change, code):
    with pytest.raises(KafkaError, match=change[0].replace(".", r"\.")) as failure:
        changed({}, [change], SETTINGS)
    assert failure.value.code is code


@pytest.mark.parametrize("value", ["1", "1" * 300])
def test_an_unknown_key_is_refused_in_the_words_of_kafka(value):
    """quixstreams' tests look for them."""
    with pytest.raises(KafkaError, match=r"Unknown topic config name: no\.such\.key, with value '1{1,20}(\.\.\.)?'"):
        check_configs({"retention.ms": "1", "no.such.key": value})


def test_a_key_that_stands_twice_is_refused():
    assert (
        code_of(changed, {}, [("segment.ms", SET, "1"), ("segment.ms", DELETE, None)], SETTINGS)
        is ErrorCode.INVALID_REQUEST
    )
    assert code_of(replaced, [("segment.ms", "1"), ("segment.ms", "1")]) is ErrorCode.INVALID_REQUEST
    assert code_of(replaced, [("segment.ms", None)]) is ErrorCode.INVALID_REQUEST


def test_a_key_of_another_broker_stays_and_may_be_deleted():
    theirs = {"remote.storage.enable": "true"}
    assert changed(theirs, [("segment.ms", SET, "9")], SETTINGS) == {**theirs, "segment.ms": "9"}
    assert changed(theirs, [("remote.storage.enable", DELETE, None)], SETTINGS) == {}


@given(st.lists(st.tuples(st.sampled_from(list(Operation)), st.sets(st.sampled_from(["delete", "compact"])))))
def test_lists_behave_like_sets(steps):
    overrides, model = {"cleanup.policy": "delete"}, {"delete"}
    for operation, elements in steps:
        text = ",".join(sorted(elements))
        try:
            overrides = changed(overrides, [("cleanup.policy", operation, text)], SETTINGS)
        except KafkaError:
            return  # nothing is left of the list
        if operation is DELETE:
            model = {"delete"}
        else:
            model = {SET: elements, APPEND: model | elements, SUBTRACT: model - elements}[operation]
        assert set(filter(None, overrides.get("cleanup.policy", "delete").split(","))) == model


def test_overrides_are_written_with_the_news_of_it(new_node, ensemble):
    node = new_node()
    make(node, "t", {"segment.ms": "5"})
    assert alter_topic(node, lambda current: {**current, "retention.ms": "7"}, False)["retention.ms"] == "7"
    stored = json.loads(ensemble.data(znodes.topic_config_path("t")))
    assert stored == {"version": 1, "config": {"segment.ms": "5", "retention.ms": "7"}}
    [change] = node.run(node.zk.children(znodes.CONFIG_CHANGES))
    assert change.startswith("config_change_")
    assert json.loads(ensemble.data(f"{znodes.CONFIG_CHANGES}/{change}")) == {"version": 2, "entity_path": "topics/t"}


def test_a_trial_and_a_change_of_nothing_write_nothing(new_node, ensemble):
    node = new_node()
    make(node, "t", {"segment.ms": "5"})
    writes = ensemble.writes
    alter_topic(node, lambda current: {"segment.ms": "6"}, True)
    alter_topic(node, lambda current: current, False)
    assert ensemble.writes == writes


def test_somebody_who_writes_in_between_loses_nothing(new_node, ensemble):
    node = new_node()
    make(node, "t")
    path = znodes.topic_config_path("t")
    theirs = iter([{"segment.ms": "1"}])

    def change(current):
        for configs in theirs:
            ensemble.put(path, znodes.encode_config(configs))
        return {**current, "retention.ms": "2"}

    assert alter_topic(node, change, False) == {"segment.ms": "1", "retention.ms": "2"}


def test_somebody_who_writes_all_the_time_is_a_conflict(new_node, ensemble):
    node = new_node()
    make(node, "t")
    numbers = iter(range(100))

    def change(_current):
        ensemble.put(znodes.topic_config_path("t"), znodes.encode_config({"segment.ms": str(next(numbers))}))
        return {"retention.ms": "1"}

    with pytest.raises(ZkConflict):
        alter_topic(node, change, False)
    assert next(numbers) == topic_configs.CONFIG_WRITE_TRIES_MAX


def test_overrides_of_a_topic_that_has_gone_are_not_written(new_node, ensemble):
    node = new_node()
    make(node, "t")
    ensemble.remove(znodes.topic_path("t"))
    with pytest.raises(ZkConflict, match="brokers/topics/t"):
        alter_topic(node, lambda current: {"segment.ms": "1"}, False)


def test_overrides_of_a_topic_made_by_hand_are_created(new_node, ensemble):
    node = new_node()
    make(node, "t")
    ensemble.remove(znodes.topic_config_path("t"))
    alter_topic(node, lambda current: {"segment.ms": "1"}, False)
    assert znodes.decode_config("", ensemble.data(znodes.topic_config_path("t"))) == {"segment.ms": "1"}


def test_old_news_is_cleared_away_and_young_news_kept(new_node, ensemble):
    node = new_node()
    hour = 3_600_000
    for index, created_ms in enumerate((0, hour, 2 * hour)):
        path = f"{znodes.CONFIG_CHANGE_PREFIX}{index:010d}"
        ensemble.nodes[path] = Znode(b"{}", 0, 0, created_ms)
    assert node.run(purge(node.zk)) == 2
    assert node.run(node.zk.children(znodes.CONFIG_CHANGES)) == ["config_change_0000000002"]


def test_clearing_away_waits_where_zookeeper_does_not_answer(new_node, ensemble):
    node = new_node()
    for index, created_ms in enumerate((0, 10**12)):
        ensemble.nodes[f"{znodes.CONFIG_CHANGE_PREFIX}{index:010d}"] = Znode(b"{}", 0, 0, created_ms)

    def lose(_ordinal):
        raise ZkLost("no reply")

    ensemble.on_write = lose
    assert node.run(purge(node.zk)) == 0


def test_a_hundred_thousand_keys_are_looked_at_once_each():
    changes = [(f"key-{index}", Operation.DELETE, None) for index in range(100_000)]
    assert changed({}, changes, Settings({})) == {}
    with pytest.raises(KafkaError, match=r"listed more than once: key-7\b"):
        changed({}, [*changes, changes[7]], Settings({}))


@pytest.mark.parametrize(
    ("inherited", "overrides", "is_right"),
    [
        ({}, {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}, False),
        ({}, {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"}, True),
        ({"log.cleaner.min.compaction.lag.ms": "10"}, {"max.compaction.lag.ms": "5"}, False),
        (
            {"log.cleaner.min.compaction.lag.ms": "10"},
            {"max.compaction.lag.ms": "5", "min.compaction.lag.ms": "0"},
            True,
        ),
        ({}, {"max.compaction.lag.ms": "1", "unknown": "x"}, True),
    ],
)
def test_a_record_may_not_have_to_stay_for_longer_than_it_may(inherited, overrides, is_right):
    settings = Settings(inherited)
    if is_right:
        check_overrides(overrides, settings)
        return
    with pytest.raises(KafkaError, match=r"above max\.compaction\.lag\.ms") as caught:
        check_overrides(overrides, settings)
    assert caught.value.code == ErrorCode.INVALID_CONFIG
