from headrace.controller.agent import restored_states
from headrace.controller.agent.restored_states import RETRY_MS, RestoreComparison, has_past_states
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.runtime.tasks import Future, Tasks


def has_past(node, controller_epoch=0):
    found = []

    async def ask():
        found.append(await has_past_states(node.zk, node.tasks, node.known, controller_epoch))

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


def test_an_epoch_of_controllers_of_the_past_is_found(new_node, ensemble):
    node = new_node()
    epoch = znodes.decode_controller_epoch(ensemble.data(znodes.CONTROLLER_EPOCH))
    assert not has_past(node, epoch)
    assert has_past(node, epoch + 1)


def test_an_epoch_of_controllers_that_can_not_be_read_says_nothing_and_states_are_compared(new_node, ensemble):
    node = new_node()
    node.create("t", ((0,),))
    node.turn()
    ensemble.put(znodes.CONTROLLER_EPOCH, b"?")
    assert not has_past(node, 1)
    state = node.known.topics["t"].states[0]
    node.known.set_states(node.known.topics["t"], {0: state._replace(leader_epoch=7)})
    assert has_past(node, 1)


def test_the_states_of_a_topic_that_was_made_again_are_not_those_of_the_past(new_node, ensemble):
    node = new_node()
    node.create("t", ((0,), (0,)))
    node.turn()
    topic = node.known.topics["t"]
    node.known.set_states(topic, {0: topic.states[0]._replace(leader_epoch=7)})
    assert has_past(node)
    ensemble.put(znodes.topic_path("t"), znodes.encode_topic(topic.assignment._replace(topic_id="0f" * 16)))
    assert not has_past(node)


class Watch:
    """A comparison that the test answers, and the times at which it is begun."""

    def __init__(self, monkeypatch):
        self.now_ms = 0
        self.tasks = Tasks(lambda: self.now_ms, ZkLost)
        self.begun, self.answers, self.past, self.compared_ids = [], [], 0, 0
        monkeypatch.setattr(restored_states, "has_past_states", self.compare)
        self.comparison = RestoreComparison(
            None, self.tasks, None, lambda: self.now_ms, lambda: 3, self.note_past, self.compare_ids
        )

    async def compare(self, _zk, _tasks, _known, _epoch):
        self.begun.append(self.now_ms)
        self.answers.append(Future())
        return await self.answers[-1]

    def note_past(self):
        self.past += 1

    async def compare_ids(self):
        self.compared_ids += 1

    def look(self, drops, pass_ms=0, is_connected=True, is_joined=True):
        self.now_ms += pass_ms
        self.comparison.look(drops, is_joined=is_joined, is_connected=is_connected)
        self.tasks.run(10)


def test_a_comparison_that_the_next_loss_ends_is_made_again(monkeypatch):
    watch = Watch(monkeypatch)
    watch.look(1, is_connected=False)
    watch.look(1)
    watch.answers[0].fail(ZkLost("ConnectionLoss"))
    watch.look(2, 50, is_connected=False)
    watch.look(2, 300)
    assert len(watch.begun) == 2, "however short the second one was"
    watch.answers[1].fail(ZkLost("a reply that was late"))
    watch.look(2)
    watch.look(2, RETRY_MS)
    assert len(watch.begun) == 3
    watch.answers[2].complete(True)
    watch.look(2)
    assert watch.past == 1
    watch.look(2, RETRY_MS)
    assert len(watch.begun) == 3


def test_an_answer_from_before_the_connection_was_lost_again_counts_for_nothing(monkeypatch):
    watch = Watch(monkeypatch)
    watch.look(1)
    watch.look(2)
    watch.answers[0].complete(False)
    watch.look(2)
    watch.answers[1].complete(True)
    watch.look(2)
    assert watch.past == 1


def test_in_another_session_all_is_read_anyway(monkeypatch):
    watch = Watch(monkeypatch)
    watch.look(1, is_connected=False)
    watch.look(1, is_joined=False)
    watch.look(1)
    assert not watch.begun
