from headrace.controller.agent.pending_response import PendingResponse
from headrace.limits import ITEMS_PER_POLL_MAX


def respond(is_done):
    return b"done" if is_done else b"late"


def test_the_answer_comes_when_every_item_is_there():
    there = set()
    waiting = PendingResponse(["a", "b"], 100, there.__contains__, respond)
    assert waiting.poll(0) is None
    there.add("b")
    assert waiting.poll(1) is None
    there.add("a")
    assert waiting.poll(2) == b"done"


def test_the_deadline_ends_the_wait():
    waiting = PendingResponse(["a"], 100, lambda _item: False, respond)
    assert waiting.poll(99) is None
    assert waiting.poll(100) == b"late"


def test_what_is_there_at_the_deadline_is_in_time():
    assert PendingResponse(["a"], 100, lambda _item: True, respond).poll(100) == b"done"


def test_an_item_that_came_is_not_asked_again():
    asked = []
    waiting = PendingResponse(["a", "b"], 100, lambda item: asked.append(item) or item == "a", respond)
    waiting.poll(0)
    waiting.poll(1)
    assert asked == ["a", "b", "b"]


def test_nothing_to_wait_for_is_answered_at_once():
    assert PendingResponse.done(b"x").poll(0) == b"x"


def test_a_look_costs_one_check_where_nothing_has_come():
    asked, there = [], set()
    waiting = PendingResponse(range(1_000), 100, lambda item: asked.append(item) or item in there, respond)
    for now_ms in range(50):
        assert waiting.poll(now_ms) is None
    assert asked == [0] * 50
    there.update(range(1_000))
    while (response := waiting.poll(51)) is None:
        assert waiting.is_halfway
        assert len(asked) % ITEMS_PER_POLL_MAX == 50
    assert response == b"done"
    assert len(asked) == 1_050
