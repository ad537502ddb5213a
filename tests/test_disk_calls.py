"""Files and names of `log/` and `workers/` change through `Disk` alone: what bypasses it, no test of a power loss sees.

The controller's small files have their own place, `headrace/durable_file.py`.
"""

import ast

import pytest

from tests.support.tree import CODE, ROOT

ROOMS = ("log", "workers")
DISK = ROOT / "log/disk.py"
DURABLE = ROOT / "headrace/durable_file.py"
OF_OS = {
    "fdatasync", "fsync", "ftruncate", "link", "makedirs", "mkdir", "pwrite", "pwritev", "remove", "removedirs", "rename",
    "renames", "replace", "rmdir", "symlink", "truncate", "unlink", "write", "writev",
}  # fmt: skip
OF_SHUTIL = {"copy", "copy2", "copyfile", "copytree", "move", "rmtree"}
OF_PATHS = {
    "hardlink_to", "mkdir", "rename", "rmdir", "symlink_to", "touch", "unlink", "write_bytes", "write_text",
}  # fmt: skip
READING = {"O_RDONLY", "O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH"}


def sources(*folders):
    return [path for path in CODE if path.relative_to(ROOT).parts[0] in folders and path not in (DISK, DURABLE)]


def changes(text):
    """(line, call) of each call that changes a file or a name, and is none of a disk's."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module in ("os", "shutil"):
            names = {one.name for one in node.names}
            found += [(node.lineno, one) for one in sorted(names & (OF_OS | OF_SHUTIL | {"open"}))]
        if isinstance(node, ast.Call) and (name := _changing(node)):
            found.append((node.lineno, name))
    return found


def _changing(call):
    function = call.func
    if isinstance(function, ast.Name):
        return "open" if function.id == "open" and _writes(call, 1) else ""
    if not isinstance(function, ast.Attribute):
        return ""
    owner, name = ast.unparse(function.value), function.attr
    if owner == "os":
        return f"os.{name}" if name in OF_OS or (name == "open" and _opens_to_write(call)) else ""
    if owner == "shutil":
        return f"shutil.{name}" if name in OF_SHUTIL else ""
    if owner.rpartition(".")[2].strip("_").endswith("disk") or owner == "super()":
        return ""
    is_path_replace = name == "replace" and len(call.args) == 1 and not call.keywords and not owner.endswith("epochs")
    is_path_open = name == "open" and _writes(call, 0) and any(isinstance(one, ast.Constant) for one in call.args[:1])
    if name == "touch" and call.args:
        return ""  # a path's has none
    return f"{owner}.{name}" if name in OF_PATHS or is_path_replace or is_path_open else ""


def _opens_to_write(call):
    """Whether `os.open` has another flag than those of readers; a name that is none of `os` may hold any."""
    flags = call.args[1]
    if any(isinstance(one, ast.Name) and one.id != "os" for one in ast.walk(flags)):
        return True
    return not {one.attr for one in ast.walk(flags) if isinstance(one, ast.Attribute)} <= READING


def _writes(call, place):
    """Whether `open` has a mode that is not one of reading."""
    modes = [*call.args[place : place + 1], *(one.value for one in call.keywords if one.arg == "mode")]
    return any(not isinstance(one, ast.Constant) or set(str(one.value)) & set("wax+") for one in modes)


def test_log_and_workers_change_files_through_their_disk():
    wrong = {
        f"{path.relative_to(ROOT)}:{line}: {call}"
        for path in sources(*ROOMS)
        for line, call in changes(path.read_text())
    }
    assert not wrong


def test_the_controller_changes_files_by_one_function():
    wrong = {
        f"{path.relative_to(ROOT)}: {call}"
        for path in sources("controller")
        for _line, call in changes(path.read_text())
    }
    assert not wrong


@pytest.mark.parametrize(
    "text",
    [
        "os.rename(a, b)", "os.unlink(a)", "os.replace(a, b)", "os.remove(a)", "os.mkdir(a)", "os.makedirs(a)", "os.link(a, b)",
        "os.truncate(a, 1)", "os.ftruncate(fd, 1)", "os.fsync(fd)", "os.open(a, os.O_RDWR)", "os.open(a, flags)",
        "os.open(a, os.O_WRONLY | os.O_CREAT)", "shutil.rmtree(a)", "shutil.move(a, b)", "open(a, 'w')", "open(a, mode='ab')",
        "open(a, 'r+b')", "open(a, mode)", "path.open('w')", "path.rename(b)", "path.unlink(missing_ok=True)", "path.replace(b)",
        "path.write_text('')", "path.write_bytes(b'')", "path.mkdir()", "path.touch()", "from os import rename",
        "from shutil import rmtree",
    ],
)  # fmt: skip
def test_a_call_that_changes_files_is_found(text):
    assert changes(text)


@pytest.mark.parametrize(
    "text",
    [
        "os.open(a, os.O_RDONLY)", "os.open(a, os.O_RDONLY | os.O_DIRECTORY)", "open(a, 'rb')", "open(a)", "disk.rename(a, b)",
        "self._disk.unlink(a)", "text.replace('a', 'b')", "self.epochs.replace([])", "PartitionLog.open(a, b)", "os.listdir(a)",
    ],
)  # fmt: skip
def test_a_call_that_reads_is_none(text):
    assert not changes(text)
