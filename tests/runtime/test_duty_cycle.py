"""The cycle of every process: its order, its sleeps, its states, its exit codes. Wake-ups: `tests/shm/test_mutants.py`."""

import ast
import logging
import os
import signal
from pathlib import Path

import pytest

from headrace import exit_codes
from headrace.errors import ConfigError, Fenced
from headrace.limits import DRAIN_MAX_MS, IDLE_WAIT_MAX_MS
from headrace.runtime import duty_cycle
from headrace.runtime.duty_cycle import DutyCycle, Process
from headrace.runtime.poller import READ, Poller
from headrace.runtime.stop_flag import Stopped
from headrace.shm.process_table import ProcessState
from tests.runtime.runtime_fakes import TickingClock

ROOT = Path(__file__).parent.parent.parent
STARTING, READY, DRAINING, STOPPED = list(ProcessState)[1:]


class Flag:
    is_set = False


class Role(Process):
    """Does what the test's list says, one entry a cycle; then it is told to stop."""

    def __init__(self, *work):
        self.work = list(work)
        self.flag = Flag()
        self.called = []
        self.sleeps_ms = IDLE_WAIT_MAX_MS

    def do_work(self):
        self.called.append("work")
        step = self.work.pop(0) if self.work else 0
        self.flag.is_set = not self.work
        if isinstance(step, BaseException):
            raise step
        return step

    def look_again(self):
        self.called.append("look")
        return 0

    def sleep_bound_ms(self):
        self.called.append("sleep")
        return self.sleeps_ms

    def peers_changed(self, process_ids):
        self.called.append(process_ids)

    def close(self):
        self.called.append("close")
        return True


class NotedPoller(Poller):
    """Notes the waits, and sleeps in none of them."""

    __slots__ = ("waits",)

    def __init__(self, doorbell):
        super().__init__(doorbell)
        self.waits = []

    def wait(self, timeout_ms):
        self.waits.append(timeout_ms)
        return super().wait(0)


@pytest.fixture
def poller(seat):
    poller = NotedPoller(seat.doorbell)
    yield poller
    poller.close()


def turn(seat, poller, role):
    return DutyCycle(seat, TickingClock(), poller, role.flag, role).run()


def test_it_sleeps_after_a_cycle_without_work_alone(seat, poller):
    role = Role(1, 0, 1, 1, 0, 0)
    assert turn(seat, poller, role)
    parked = ["look", "sleep", "work"]
    assert role.called == ["work", "work", *parked, "work", "work", *parked, "close"]
    assert poller.waits == [IDLE_WAIT_MAX_MS] * 2
    assert seat.beats == 6
    assert seat.states == [READY, DRAINING, STOPPED]
    assert seat.words == [0], "it is parked in its sleeps alone"


def test_a_role_that_spins_is_not_parked_meanwhile_and_parks_where_it_found_nothing(seat, poller):
    role = Role(0, 0)
    seen = []
    role.look_again = lambda: seen.append(seat.words[0]) or 0
    DutyCycle(seat, TickingClock(), poller, role.flag, role, spin_us=20_000).run()
    assert len(seen) > 2
    assert seen == [0] * (len(seen) - 1) + [1], "the last look is that of a parked process"


def test_what_a_spin_finds_is_done_without_a_sleep(seat, poller):
    role = Role(0, 1, 0)
    looks = iter([0, 1])
    role.look_again = lambda: next(looks)
    DutyCycle(seat, TickingClock(), poller, role.flag, role, spin_us=1_000_000).run()
    assert role.called == ["work", "work", "work", "close"]
    assert poller.waits == []
    assert seat.words == [0]


def test_a_bell_that_rang_late_is_silenced_by_a_spin_and_is_no_work(seat, poller):
    """Who saw us parked may ring when we are not any more: with sockets the spin hears it."""
    reader, writer = os.pipe()
    poller.register(reader, READ, lambda _events: 1)
    role = Role(0, 0)
    looks = []

    def look():
        if not looks:
            seat.doorbell.force()
        looks.append(seat.words[0])
        return 0

    role.look_again = look
    DutyCycle(seat, TickingClock(), poller, role.flag, role, spin_us=20_000).run()
    os.close(reader)
    os.close(writer)
    assert looks[-1] == 1, "it parked"
    with pytest.raises(BlockingIOError):
        os.eventfd_read(seat.doorbell.fd)


@pytest.mark.parametrize("sleeps_ms", [0, 1])
def test_a_bell_that_rang_is_silenced_once(seat, poller, sleeps_ms):
    """Without a sleep (something is due at once) it may have rung as well."""
    role = Role(0, 0, 0)
    role.sleeps_ms = sleeps_ms
    role.look_again = lambda: seat.doorbell.force() if role.called == ["work"] else None
    turn(seat, poller, role)
    with pytest.raises(BlockingIOError):
        os.eventfd_read(seat.doorbell.fd)


def test_what_the_look_finds_keeps_it_awake(seat, poller):
    role = Role(0, 0)
    role.look_again = lambda: seat.words[0]  # parked by now
    turn(seat, poller, role)
    assert poller.waits == []


def test_with_sockets_it_polls_once_a_cycle(seat, poller):
    read, write = os.pipe()
    poller.register(read, 1, lambda _events: 0)
    role = Role(1, 0, 0, 0)
    looks = iter([0, 1])
    role.look_again = lambda: next(looks)
    turn(seat, poller, role)
    assert poller.waits == [0, 0, IDLE_WAIT_MAX_MS, 0], "the first cycle is without a sleep"
    os.close(read)
    os.close(write)


def test_nothing_is_asked_of_the_system_when_something_is_due_at_once(seat, poller):
    role = Role(0, 0)
    role.sleeps_ms = 0
    turn(seat, poller, role)
    assert poller.waits == []


def test_peers_that_changed_are_told_before_the_work(seat, poller):
    seat.changes = [frozenset(), frozenset({3})]
    role = Role(1, 1)
    turn(seat, poller, role)
    assert role.called == ["work", frozenset({3}), "work", "close"]


def test_it_is_ready_when_its_role_says_so_and_once(seat, poller):
    role = Role(1, 1, 1, 1)
    answers = iter([False, True])
    role.is_ready = lambda: next(answers)
    turn(seat, poller, role)
    assert seat.states == [READY, DRAINING, STOPPED]


def test_a_process_that_stops_is_not_ready_any_more(seat, poller):
    role = Role(0)
    role.is_ready = lambda: seat.states == [DRAINING]
    role.drain = lambda: True
    turn(seat, poller, role)
    assert seat.states == [DRAINING, STOPPED]


class Draining(Role):
    """Has more to finish."""

    def drain(self):
        self.called.append("drain")
        return True

    def is_drained(self):
        self.called.append("drained?")
        return self.called.count("drained?") == 2


def test_a_drain_goes_on_until_nothing_is_left_and_nothing_was_done(seat, poller):
    role = Draining(1)
    role.work = [1]
    rest = iter([1, 0, 0])
    first = role.do_work

    def do_work():
        if "drain" not in role.called:
            return first()
        role.called.append("work")
        return next(rest)

    role.do_work = do_work
    assert turn(seat, poller, role)
    assert role.called == ["work", "drain", "work", "work", "drained?", "look", "sleep", "work", "drained?", "close"]


def test_a_drain_has_an_end(seat, poller):
    role = Draining(1)
    role.is_drained = lambda: False
    turn(seat, poller, role)
    cycles = role.called.count("work")
    assert DRAIN_MAX_MS // 4 < cycles <= DRAIN_MAX_MS, "each look at the clock takes a millisecond"
    assert role.called[-1] == "close"


def test_stopped_in_the_middle_of_something_long_is_an_ordinary_stop(seat, poller):
    role = Role(1, Stopped("SIGTERM"), 1)
    assert turn(seat, poller, role)
    assert role.called == ["work", "work", "close"]
    assert seat.states == [READY, DRAINING, STOPPED]


class Mended(Exception):
    """By a restart."""


@pytest.mark.usefixtures("_handlers_as_before")
@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        (ConfigError("broker.id", "x", "no number"), exit_codes.CONFIG, "process can't start, invalid setting"),
        (Fenced("replaced"), exit_codes.FAILED, "process fenced role=hr-test-0 reason=replaced"),
        (Mended("away"), exit_codes.FAILED, "process exits for a restart role=hr-test-0 reason=away"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("is_begun", [True, False])
def test_what_ends_a_process_and_with_which_code(seat, caplog, failure, code, said, is_begun):
    def begin(_poller, _stop):
        if is_begun:
            return Role(1, failure)
        raise failure

    with caplog.at_level(logging.WARNING):
        assert duty_cycle.run(seat, TickingClock(), begin, (Mended,)) == code
    assert said in caplog.text
    assert seat.states == [READY] * is_begun, "another process of this id follows at once, or the node stops"


@pytest.mark.usefixtures("_handlers_as_before")
def test_a_mistake_of_ours_leaves_with_its_traceback(seat):
    with pytest.raises(ZeroDivisionError):
        duty_cycle.run(seat, TickingClock(), lambda _poller, _stop: Role(ZeroDivisionError("ours")))


@pytest.mark.usefixtures("_handlers_as_before")
@pytest.mark.parametrize("is_clean", [True, False])
def test_sigterm_ends_a_sleep_and_the_code_says_whether_it_was_clean(seat, is_clean):
    class Sleeper(Process):
        def do_work(self):
            return 0

        def look_again(self):
            os.kill(os.getpid(), signal.SIGTERM)  # between the look and the sleep
            return 0

        def sleep_bound_ms(self):
            return 100_000

        def close(self):
            return is_clean

    code = duty_cycle.run(seat, TickingClock(), lambda _poller, _stop: Sleeper())
    assert code == (exit_codes.CLEAN if is_clean else exit_codes.FAILED)
    assert seat.states == [READY, DRAINING, STOPPED]


ROLES = ("shm", "runtime", "workers", "controller")


def files_with(has, folders=ROLES):
    """Files of what the supervisor forks in which a node of the syntax tree is such a one."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return {
        str(path.relative_to(ROOT))
        for path in paths
        if any(has(node) for node in ast.walk(ast.parse(path.read_text())))
    }


def calls(name, receiver=""):
    return lambda node: (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
        and receiver in ast.unparse(node.func.value)
    )


def imports(*names):
    return lambda node: (
        isinstance(node, ast.Import | ast.ImportFrom)
        and bool({getattr(node, "module", None), *(alias.name for alias in node.names)} & set(names))
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "receiver"), [("park", "bell"), ("unpark", "")])
def test_no_other_loop_parks(name, receiver):
    assert files_with(calls(name, receiver), (*ROLES, "node")) == {"runtime/duty_cycle.py"}


@pytest.mark.slow
def test_no_other_file_waits_for_descriptors():
    assert files_with(imports("select", "selectors", "asyncio")) == {"runtime/poller.py"}


@pytest.mark.slow
def test_states_and_exit_codes_are_chosen_here_alone():
    assert files_with(calls("set_state", "seat")) == {"runtime/duty_cycle.py"}
    assert files_with(imports("exit_codes", "headrace.exit_codes")) == {"runtime/duty_cycle.py"}
