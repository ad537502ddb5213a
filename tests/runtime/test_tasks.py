import pytest

from headrace.controller.zookeeper.errors import ZkLost
from headrace.runtime import tasks as tasks_module
from headrace.runtime.deadlines import NEVER
from headrace.runtime.tasks import Future, Tasks


class Clock:
    now_ms = 0

    def __call__(self):
        return self.now_ms


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tasks(clock):
    return Tasks(clock, ZkLost)


def ignore(_task):
    """The test looks at the task itself."""


async def waiting(future, seen):
    seen.append(await future)
    return "over"


def test_a_task_goes_on_when_what_it_awaits_has_come(tasks):
    future, seen = Future(), []
    task = tasks.start(waiting(future, seen), ignore)
    assert tasks.run(10) == 1
    assert tasks.run(10) == 0
    assert tasks.next_ms == NEVER
    future.complete("here")
    assert tasks.next_ms == 0
    assert tasks.run(10) == 1
    assert (seen, task.result(), len(tasks)) == (["here"], "over", 0)


def test_what_has_come_already_is_not_waited_for(tasks):
    future, seen = Future(), []
    future.complete(1)
    task = tasks.start(waiting(future, seen), ignore)
    assert tasks.run(10) == 1
    assert task.is_done


def test_all_who_await_one_future_go_on_in_their_order(tasks):
    future, order = Future(), []

    async def one(number):
        await future
        order.append(number)

    for number in range(5):
        tasks.start(one(number), ignore)
    tasks.run(10)
    future.complete(None)
    tasks.run(10)
    assert order == [0, 1, 2, 3, 4]


def test_a_failure_that_nobody_takes_leaves_the_run(tasks):
    async def fail():
        raise ValueError("here")

    tasks.start(fail())
    with pytest.raises(ValueError, match="here"):
        tasks.run(10)
    assert len(tasks) == 0


def test_a_cancelled_task_gets_the_failure_at_each_await_and_calls_no_more(tasks):
    future, seen = Future(), []

    async def stubborn():
        for _ in range(3):
            try:
                await future
            except ZkLost:
                seen.append("lost")
        with pytest.raises(ZkLost):
            tasks.check()
        return "over"

    task = tasks.start(stubborn(), ignore)
    other = tasks.start(waiting(future, []), ignore)
    tasks.run(10)
    tasks.cancel(ZkLost("the session has ended"))
    while tasks.run(10):
        pass
    assert seen == ["lost"] * 3
    assert task.result() == "over"
    assert isinstance(other.failure, ZkLost)
    future.complete(None)  # too late for both
    assert tasks.run(10) == 0


def test_a_task_that_was_never_begun_is_cancelled_without_a_step(tasks):
    begun = []

    async def begin():
        begun.append(1)

    task = tasks.start(begin(), ignore)
    tasks.cancel(ZkLost("over"))
    tasks.run(10)
    assert isinstance(task.failure, ZkLost)
    assert begun == []


def test_a_sleep_ends_by_the_clock(tasks, clock):
    task = tasks.start(tasks.sleep(50), ignore)
    tasks.run(10)
    assert tasks.next_ms == 50
    clock.now_ms = 49
    assert tasks.run(10) == 0
    clock.now_ms = 50
    assert tasks.run(10) == 1
    assert task.is_done


def test_what_is_called_later_is_no_task_and_is_called_once(tasks, clock):
    called = []
    assert tasks.later(50, lambda: called.append(1))
    assert len(tasks) == 0
    clock.now_ms = 49
    tasks.run(10)
    assert called == []
    clock.now_ms = 50
    tasks.run(10)
    tasks.run(10)
    assert called == [1]


def test_a_run_ends_when_its_time_is_over_and_the_others_have_their_turn(tasks, clock):
    steps = []

    async def work(name):
        for _ in range(3):
            steps.append(name)
            clock.now_ms += 3
            await tasks.pause()

    for name in "ab":
        tasks.start(work(name), ignore)
    assert tasks.run(5) == 2
    assert steps == ["a", "b"]
    while tasks.run(5):
        pass
    assert steps == ["a", "b"] * 3


def test_work_is_shared_and_its_first_failure_raised_when_all_have_ended(tasks):
    numbers, done = iter(range(10)), []

    async def some():
        for number in numbers:
            await tasks.pause()
            if number == 3:
                raise ValueError("three")
            done.append(number)

    async def whole():
        await tasks.share(4, some)

    task = tasks.start(whole(), ignore)
    while tasks.run(10):
        pass
    assert isinstance(task.failure, ValueError)
    assert sorted(done) == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_more_calls_than_there_is_room_for_fail_at_once(clock, monkeypatch):
    monkeypatch.setattr(tasks_module, "CONTROLLER_TIMERS_MAX", 2)
    tasks = Tasks(clock, ZkLost)
    sleeps = [tasks.start(tasks.sleep(10), ignore) for _ in range(3)]
    while tasks.run(10):
        pass
    assert [task.is_done for task in sleeps] == [False, False, True]
    assert isinstance(sleeps[2].failure, ZkLost)
    assert not tasks.later(10, lambda: None)
