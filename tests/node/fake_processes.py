"""Entry points for a supervisor under test: tiny processes that do one thing right or wrong.

Runs in: children of a supervisor that a test forked. Each fake follows the contract of the real ones: a flag on
SIGTERM, a heartbeat each turn, READY when it works, an exit code at the end. None outlives LIFE_S, so that a
supervisor that forgets its children leaves nothing behind either.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

from headrace.shm.counters import CLOSING_STEPS
from headrace.shm.process_table import Leave, ProcessState
from headrace.shm.seat import Seat
from headrace.shm.wiring import Role

TURN_S = 0.005
LIFE_S = 60.0
AWAY_SINCE_MS = 1_700_000_000_000

Entry = Callable[..., int]


def obedient(seat: Seat, _listener: object = None) -> int:
    """Ready at once, stops when told."""
    return _turn_until_told(seat)


def telling(path: Path) -> Entry:
    """Obedient; appends a line with its title when it stops, and what it knows of the stop."""

    def run(seat: Seat, _listener: object = None) -> int:
        code = _turn_until_told(seat)
        _append(path, f"{seat.wiring.title(seat.process_id)} clean={seat.processes.is_clean_stop()}")
        return code

    return run


def moving(path: Path, is_done: bool = True) -> Entry:
    """Obedient, as a controller process with leaders to move: it says that it wants to, and that it did when it is told to stop."""

    def run(seat: Seat, _listener: object = None) -> int:
        seat.set_leave(Leave.WANTED)

        def turn() -> None:
            time.sleep(TURN_S)
            if is_done and seat.is_leaving() and seat.processes.leave(seat.process_id) is Leave.WANTED:
                _append(path, "moved")
                seat.set_leave(Leave.DONE)

        return _turn_until_told(seat, work=turn)

    return run


def leaving_with(exit_code: int, lives: int = 1_000_000) -> Entry:
    """Ends at once with a code, in its first `lives` lives; obedient after that."""

    def run(seat: Seat, _listener: object = None) -> int:
        return exit_code if seat.generation <= lives else _turn_until_told(seat)

    return run


def stopping_with(exit_code: int) -> Entry:
    """Obedient, but its last word is `exit_code`."""
    return lambda seat, _listener=None: _turn_until_told(seat) or exit_code


def silent(seat: Seat, _listener: object = None) -> int:
    """In its first life it is ready, turns once more when the bell says that this was seen, and never beats after that;
    it ignores SIGTERM."""
    if seat.generation > 1:
        return _turn_until_told(seat)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    seat.set_state(ProcessState.READY)
    select.select([seat.doorbell.fd], [], [], LIFE_S)
    seat.beat(time.monotonic_ns())
    time.sleep(LIFE_S)
    return 1


def clinging(seat: Seat, _listener: object = None) -> int:
    """In its first life it never looks at who was replaced, so that it holds the rings of the dead."""
    return _turn_until_told(seat, follows=seat.generation > 1)


def deaf(seat: Seat, _listener: object = None) -> int:
    """Ready and alive, but it never stops."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    seat.set_state(ProcessState.READY)
    end = time.monotonic() + LIFE_S
    while time.monotonic() < end:
        seat.beat(time.monotonic_ns())
        time.sleep(TURN_S)
    return 1


def closing(seconds: float) -> Entry:
    """Told to stop, it closes a log each turn, for so long."""

    def run(seat: Seat, _listener: object = None) -> int:
        code = _turn_until_told(seat)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            seat.counters.add(CLOSING_STEPS, 1)
            time.sleep(TURN_S)
        return code

    return run


def never_ready(seat: Seat, _listener: object = None) -> int:
    """Works, but is never ready."""
    return _turn_until_told(seat, is_ready=False)


def lacking_the_world(is_ready: bool) -> Entry:
    """Works, without ZooKeeper and without the first log directory."""

    def run(seat: Seat, _listener: object = None) -> int:
        seat.processes.set_away_since(seat.process_id, AWAY_SINCE_MS)
        seat.processes.add_offline_dirs(seat.process_id, seat.wiring.log_dir_bit(seat.wiring.settings["log.dirs"][0]))
        return _turn_until_told(seat, is_ready)

    return run


def dying_of_its_first_work(seat: Seat, _listener: object = None) -> int:
    """Ready, and gone in the turn after that, in every life."""
    seat.set_state(ProcessState.READY)
    select.select([seat.doorbell.fd], [], [], LIFE_S)
    return 5


def unprepared(seat: Seat, _listener: object = None) -> int:
    """Is still at its imports, so to speak: it has no handler of its own yet. It beats once, for the test."""
    seat.beat(time.monotonic_ns())
    time.sleep(LIFE_S)
    return 1


def raising(seat: Seat, _listener: object = None) -> int:
    """Dies of an exception in its first life."""
    if seat.generation > 1:
        return _turn_until_told(seat)
    raise RuntimeError("a mistake of ours")


def accepting(seat: Seat, listener: object = None) -> int:
    """Answers each connection with its title."""
    listener.settimeout(TURN_S)  # type: ignore[attr-defined]

    def serve() -> None:
        try:
            connection, _ = listener.accept()  # type: ignore[attr-defined]
        except TimeoutError:
            return
        with connection:
            connection.sendall(seat.wiring.title(seat.process_id).encode())

    return _turn_until_told(seat, work=serve)


def node_of(**roles: Entry) -> dict[Role, Entry]:
    """A table of entry points: obedient, but for the roles named in lower case."""
    return {role: roles.get(role.value, obedient) for role in Role}


def _turn_until_told(
    seat: Seat, is_ready: bool = True, work: Callable[[], None] | None = None, follows: bool = True
) -> int:
    told = False

    def stop(_number: int, _frame: object) -> None:
        nonlocal told
        told = True

    signal.signal(signal.SIGTERM, stop)
    if is_ready:
        seat.set_state(ProcessState.READY)
    end = time.monotonic() + LIFE_S
    while not told and time.monotonic() < end:
        seat.beat(time.monotonic_ns())
        if follows:
            seat.changed()
        if work is None:
            time.sleep(TURN_S)
        else:
            work()
    seat.set_state(ProcessState.STOPPED)
    return 0


def _append(path: Path, line: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, f"{line}\n".encode())
    os.close(fd)
