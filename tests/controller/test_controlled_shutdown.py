"""When a stop waits for leaders to move, and how often that is asked for."""

import pytest

from headrace.controller.controlled_shutdown import VERSION, ControlledShutdown
from headrace.controller.controller_line import Answer
from headrace.controller.zookeeper.errors import ZkLost
from headrace.errors import ErrorCode
from headrace.limits import LEAVE_MS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.runtime.tasks import Future, Tasks
from headrace.settings import Settings
from headrace.shm.process_table import Leave

BACKOFF_MS = 200


class Node:
    """What it needs of seat, known cluster and line."""

    def __init__(self, **settings):
        self.wiring = self
        self.settings = Settings(
            {"log.dirs": "/x", "controlled.shutdown.retry.backoff.ms": str(BACKOFF_MS), **settings}
        )
        self.stops = False
        self.leave = None
        self.node_id, self.controller_id, self.broker_epoch = 0, 7, 55
        self.brokers = {0: None, 7: None}
        self.asked, self.answers = [], []
        self.now_ms = 0
        self.tasks = Tasks(lambda: self.now_ms, ZkLost)
        self.shutdown = ControlledShutdown(self, self, self.tasks, self)

    def is_leaving(self):
        return self.stops

    def set_leave(self, leave):
        self.leave = leave

    async def ask(self, api_key, version, message, timeout_ms):
        assert (api_key, version, timeout_ms) == (ApiKey.CONTROLLED_SHUTDOWN, VERSION, LEAVE_MS_MAX)
        self.asked.append(message)
        future = Future()
        self.answers.append(future)
        return await future

    def turn(self, is_joined=True):
        self.shutdown.turn(is_joined)
        self.tasks.run(100)

    def answer(self, error=ErrorCode.NONE, response_error=0, left=()):
        rows = [messages.ControlledShutdownResponse.RemainingPartition("t", index) for index in left]
        response = messages.ControlledShutdownResponse(int(response_error), rows)
        self.answers.pop(0).complete(Answer(error, None if error else response, VERSION))
        self.tasks.run(100)


def test_a_node_that_is_alone_or_not_joined_or_told_so_stops_at_once():
    alone = Node()
    alone.brokers = {0: None}
    alone.turn()
    assert alone.leave in (None, Leave.NOTHING)
    unjoined = Node()
    unjoined.turn(is_joined=False)
    assert unjoined.leave in (None, Leave.NOTHING)
    disabled = Node(**{"controlled.shutdown.enable": "false"})
    disabled.turn()
    assert disabled.leave in (None, Leave.NOTHING)


def test_what_it_says_follows_the_brokers():
    node = Node()
    node.turn()
    assert node.leave is Leave.WANTED
    node.brokers = {0: None}
    node.turn()
    assert node.leave is Leave.NOTHING


def test_the_controller_is_asked_once_where_it_moves_everything():
    node = Node()
    node.turn()
    assert not node.asked
    node.stops = True
    node.turn()
    node.turn()
    assert node.asked == [messages.ControlledShutdownRequest(0, 55)]
    assert node.leave is Leave.WANTED
    node.answer()
    assert node.leave is Leave.DONE
    node.turn()
    assert len(node.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"error": ErrorCode.NETWORK_EXCEPTION},
        {"error": ErrorCode.NOT_CONTROLLER},
        {"response_error": ErrorCode.STALE_BROKER_EPOCH},
        {"left": (3,)},
    ],
)
def test_what_is_left_is_asked_for_again_as_often_as_it_is_set(answer):
    node = Node(**{"controlled.shutdown.max.retries": "3"})
    node.stops = True
    node.turn()
    for tries in (1, 2):
        node.answer(**answer)
        assert len(node.asked) == tries
        assert node.leave is Leave.WANTED
        node.now_ms += BACKOFF_MS
        node.turn()
    assert len(node.asked) == 3
    node.answer(**answer)
    assert node.leave is Leave.DONE


def test_a_session_that_ends_ends_the_wait():
    node = Node()
    node.stops = True
    node.turn()
    node.tasks.cancel(ZkLost("the session has ended"))
    node.tasks.run(100)
    assert node.leave is Leave.DONE
