from headrace.controller.agent.restored_states import has_past_states
from headrace.controller.zookeeper import znodes


def has_past(node):
    found = []

    async def ask():
        found.append(await has_past_states(node.zk, node.tasks, node.known))

    node.run(ask())
    return found[0]


def test_a_state_of_the_past_is_found_whatever_the_session_says(new_node, ensemble):
    node = new_node()
    node.create("t", ((0,), (0,)))
    node.turn()
    topic = node.known.topics["t"]
    later = topic.states[1]._replace(leader_epoch=7, version=topic.states[1].version + 3)
    assert not has_past(node)
    node.known.set_states(topic, {1: later})
    assert has_past(node)


def test_what_is_later_or_not_there_says_nothing(new_node, ensemble):
    node = new_node()
    node.create("t", ((0,), (0,)))
    node.turn()
    path = znodes.state_path("t", 0)
    state = node.known.topics["t"].states[0]
    ensemble.put(path, znodes.encode_state(state._replace(leader_epoch=9)))
    ensemble.remove(znodes.state_path("t", 1))
    assert not has_past(node)
