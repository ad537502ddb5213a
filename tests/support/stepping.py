"""Processes that stop or die at a chosen bytecode, or line: the interleavings are forced, not hoped for.

A child traces the functions of the files under test and sends itself a signal right before the `step`-th
bytecode in them (or line: where they take thousands of bytecodes, and what matters is the order of their calls).
The code under test has no hooks for this.

    for step in itertools.count():          # until a child ran to its end
        ...make what it works on...
        finished = die_at(step, body, FILES)
        ...judge what it left...
        if finished: break
"""

import itertools
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType

from tests.support.children import die_with_parent

STEPS_MAX = 5_000
_CRASHED = 70


def fork(body: Callable[[], int | None]) -> int:
    """Run `body` in a child, which dies with us; its return value is the exit code. Returns the pid."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = _CRASHED
    try:
        if die_with_parent(parent, signal.SIGKILL):
            code = body() or 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def exit_code(pid: int) -> int:
    """Wait for a child; a death by signal n is -n."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def end(pid: int) -> None:
    """Kill a child that goes on for ever, and did not die before."""
    os.kill(pid, signal.SIGKILL)
    assert exit_code(pid) == -signal.SIGKILL


def wait_until_stopped_or_ended(pid: int) -> bool:
    """True where the child stopped itself; False where it ended (and is reaped then)."""
    _, status = os.waitpid(pid, os.WUNTRACED)
    return os.WIFSTOPPED(status)


def signal_self_at(step: int, number: int, modules: list[ModuleType], unit: str = "opcode") -> None:
    """From here on count the bytecodes, or lines, of `modules`; before the `step`-th, send this process a signal."""
    files = {module.__file__ for module in modules}
    executed = itertools.count()

    def trace(frame: FrameType, event: str, _argument: object) -> object:
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace = trace  # Python 3.13 wants it before the next line
        frame.f_trace_opcodes = unit == "opcode"
        frame.f_trace_lines = unit == "line"
        if event == unit and next(executed) == step:
            sys.settrace(None)
            os.kill(os.getpid(), number)
        return trace

    if unit == "opcode":
        sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for one such frame when tracing begins
    sys.settrace(trace)


def die_at(step: int, body: Callable[[], None], modules: list[ModuleType], unit: str = "opcode") -> bool:
    """Run `body` in a child that is killed before its `step`-th bytecode, or line, in `modules`.

    returns   whether it got to its end instead
    """

    def child() -> None:
        signal_self_at(step, signal.SIGKILL, modules, unit)
        body()
        sys.settrace(None)

    code = exit_code(fork(child))
    assert code in (0, -signal.SIGKILL), f"the child crashed with {code} before step {step}"
    return code == 0


def steps() -> Iterator[int]:
    """0, 1, 2, ...; a path that never ends is an error."""
    yield from range(STEPS_MAX)
    raise AssertionError(f"not through after {STEPS_MAX} steps")
