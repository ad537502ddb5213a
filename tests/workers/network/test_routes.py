"""Routes follow the view topic by topic."""

from headrace.settings import Settings
from headrace.topic_defaults import TopicDefaults
from headrace.workers.network.routes import Routes
from tests.support.fake_seat import view_of

DEFAULTS = TopicDefaults(Settings({"log.dirs": "/nowhere"}))


def test_routes_of_a_topic_that_did_not_change_are_kept():
    routes = Routes(1, 1, DEFAULTS)
    view = view_of(("a", 2), ("b", 2))
    routes.follow(view)
    kept, policy = routes.topic("a"), routes.policy("a")
    assert routes.topic("b")[0].leader_epoch == 0
    changed = view_of(("a", 2), ("b", 2, {"compression.type": "gzip"}, 7)).topics["b"]
    routes.follow(view._replace(topics={**view.topics, "b": changed}))
    assert routes.topic("a") is kept
    assert routes.policy("a") is policy
    assert routes.by_slot(0) is kept[0]
    assert routes.by_slot(2) is None
    assert routes.topic("b")[0].leader_epoch == 7
    assert routes.topic("b")[0].policy is not None


def test_routes_of_a_topic_that_is_gone_are_forgotten_though_another_has_its_slots():
    routes = Routes(1, 1, DEFAULTS)
    routes.follow(view_of(("a", 2)))
    assert routes.partition("a", 1).slot == 1
    routes.follow(view_of(("b", 2)))
    assert routes.topic("a") is None
    assert routes.by_slot(1) is None
    assert routes.partition("b", 1) is routes.by_slot(1)


def test_all_routes_are_made_anew_where_what_topics_inherit_has_changed():
    defaults = TopicDefaults(Settings({"log.dirs": "/nowhere"}))
    routes = Routes(1, 1, defaults)
    view = view_of(("a", 1))
    routes.follow(view)
    assert routes.topic("a")[0].policy is None
    defaults.follow({"compression.type": "gzip"}, {})
    routes.follow(view._replace(version=2))
    assert routes.topic("a")[0].policy is not None
