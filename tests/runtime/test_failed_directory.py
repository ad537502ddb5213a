"""What costs a log directory, and that nothing else decides it."""

import ast
import errno

import pytest

from headrace.errors import LogDamaged, StorageExhausted, StorageFailed
from headrace.log.disk import storage_failure
from headrace.runtime.failed_directory import report_failed
from tests.support.fake_seat import FakeSeat
from tests.support.tree import CODE, ROOT

PASSING = [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT]


def sources(*folders):
    return [path for path in CODE if path.relative_to(ROOT).parts[0] in folders]


@pytest.mark.parametrize("code", [*PASSING, errno.EIO, errno.EROFS, errno.ENOENT, errno.EACCES])
def test_what_passes_costs_no_directory(tmp_path, code):
    seat = FakeSeat([tmp_path])
    failures = [OSError(code, "injected"), storage_failure("write", OSError(code, "injected"))]
    assert [report_failed(seat, tmp_path, one) for one in failures] == [code not in PASSING] * 2
    assert seat.mask == (code not in PASSING)


@pytest.mark.parametrize("code", PASSING)
def test_a_sync_that_failed_is_final_but_for_want_of_descriptors(tmp_path, code):
    failure = storage_failure("fsync", OSError(code, "injected"), is_sync=True)
    assert report_failed(FakeSeat([tmp_path]), tmp_path, failure) == (code not in (errno.EMFILE, errno.ENFILE))


@pytest.mark.parametrize(("kind", "is_lost"), [(StorageFailed, True), (StorageExhausted, False), (LogDamaged, False)])
def test_one_log_costs_no_directory(tmp_path, kind, is_lost):
    assert report_failed(FakeSeat([tmp_path]), tmp_path, kind("injected")) == is_lost


def test_one_place_reports_failed_directories():
    callers = {str(path.relative_to(ROOT)) for path in CODE if ".report_offline_dirs(" in path.read_text()}
    assert callers == {"runtime/failed_directory.py"}


def flattened(text):
    """Lines where an error of the system becomes one of ours by its text alone, so that nobody sees which it was."""
    found = []
    for handler in ast.walk(ast.parse(text)):
        if not isinstance(handler, ast.ExceptHandler) or handler.type is None or handler.name is None:
            continue
        if "OSError" not in ast.unparse(handler.type):
            continue
        for call in ast.walk(handler):
            is_ours = isinstance(call, ast.Call) and ast.unparse(call.func) == "StorageFailed"
            if is_ours and any(isinstance(one, ast.Name) and one.id == handler.name for one in ast.walk(call)):
                found.append(call.lineno)
    return found


def test_no_error_of_the_system_loses_its_number():
    wrong = {
        f"{path.relative_to(ROOT)}:{line}" for path in sources("log", "workers") for line in flattened(path.read_text())
    }
    assert not wrong


@pytest.mark.parametrize(
    ("call", "is_found"),
    [
        ("lose(StorageFailed(str(failure)))", True), ("raise StorageFailed(f'write: {failure}')", True),
        ("raise storage_failure('write', failure)", False), ("raise StorageFailed('no directory')", False),
    ],
)  # fmt: skip
def test_a_number_that_is_lost_is_found(call, is_found):
    text = f"try:\n    write()\nexcept (HeadraceError, OSError) as failure:\n    {call}\n"
    assert bool(flattened(text)) == is_found
