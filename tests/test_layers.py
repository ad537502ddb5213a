"""Imports run downward only: the map in docs/architecture.md, read from there and enforced.

Rooms inside folders, who may only read, and which rooms are pure stand there as well. Imports inside of functions and
those under TYPE_CHECKING count like any other.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
# file -> the room or name that it may import beside the map, and why
EXCEPTIONS = {
    "node/log_dirs.py": ("log", "the clean-shutdown markers are taken under the lock, before any worker runs"),
    "cli/demo_run.py": ("spark", "the demo runs Spark"),
    "cli/spark.py": ("spark", "the command asks Spark's side what it would read"),
    "migration/import_07_state.py": ("Disk", "an import's own state, a file in no log directory"),
    "protocol/codec.py": ("importlib", "the functions of a message are imported on first use"),
    "protocol/messages/__init__.py": ("importlib", "so are the classes of a message"),
}
# modules, or names of modules, that a pure room does not import
IMPURE = {
    *("asyncio", "datetime", "fcntl", "glob", "importlib", "inspect", "io", "mmap", "multiprocessing", "os", "pathlib"),
    *(
        "posix_ipc",
        "queue",
        "random",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "ssl",
        "subprocess",
    ),
    *("tempfile", "time", "urllib", "uuid", "headrace.clock", "headrace.properties"),
}
_ITEM = r"\w+(?:/\w+)*(?: \(read\))?"


class Map(NamedTuple):
    """What docs/architecture.md says.

    layers    room -> rooms that it may import
    readers   (room, folder): it may only read that folder
    writers   folder -> the names of it that write
    pure      rooms without sockets, clocks, files
    """

    layers: dict[str, set[str]]
    readers: set[tuple[str, str]]
    writers: dict[str, set[str]]
    pure: set[str]


class Import(NamedTuple):
    """`from module import name`; the name is empty where a module is imported whole."""

    module: str
    name: str


def read_map(text: str) -> Map:
    """The fenced blocks under "Layers": folders, rooms, what writes, pure rooms."""
    folders, rooms, writing, pure = text.split("## Layers")[1].split("```")[1::2]
    found = Map({"headrace": set()}, set(), {}, set(re.findall(r"[\w/]+", pure)))
    for block in (folders, rooms):
        for left, right in re.findall(rf"([\w/]+(?:, [\w/]+)*) -> (the standard library|{_ITEM}(?:, {_ITEM})*)", block):
            for room in left.split(", "):
                named = set(re.findall(_ITEM, right)) if right != "the standard library" else set()
                found.layers[room] = {name.removesuffix(" (read)") for name in named} | (
                    {"headrace"} if named else set()
                )
                found.readers.update((room, name.removesuffix(" (read)")) for name in named if name.endswith("(read)"))
    for folder, names in re.findall(r"^(\w+): (.+)$", writing, re.MULTILINE):
        found.writers.setdefault(folder, set()).update(names.split(", "))
    return found


MAP = read_map((ROOT / "docs" / "architecture.md").read_text())
FOLDERS = sorted({room.partition("/")[0] for room in MAP.layers})


@cache
def nodes_of(source: str) -> list[ast.AST]:
    """What is asked of a file: imports, definitions, calls."""
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.Call)
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]


def imports_of(path: Path) -> set[Import]:
    """Every import of a file, wherever it stands."""
    found = set()
    for node in nodes_of(path.read_text()):
        if isinstance(node, ast.Import):
            found |= {Import(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} imports relatively: say headrace.<folder>"
            found |= {Import(node.module or "", alias.name) for alias in node.names}
    return found


def place_of(one: Import) -> str:
    """Path in the tree of what is imported of ours, `log/reading/reader`; empty for what is not ours."""
    parts = one.module.split(".")
    if parts[0] != "headrace":
        return ""
    if parts[1:2] and parts[1] in FOLDERS:
        return "/".join(parts[1:])
    return one.name if one.module == "headrace" and one.name in FOLDERS else "headrace"


def room_of(place: str) -> str:
    """The room that a path lies in: the longest that the map has."""
    parts = place.split("/")
    names = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next(name for name in names if name in MAP.layers)


def files_of(root: Path) -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))]


def names_of(root: Path, place: str) -> set[str]:
    """What a module defines at its top, so that one imported whole gives no more than its names do."""
    path = root / f"{place}.py"
    if not path.is_file():
        return set()
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {node.name for node in nodes_of(path.read_text()) if isinstance(node, kinds) and not node.col_offset}


def upward(room: str, places: dict[Import, str]) -> set[str]:
    """Rooms that this one may not import."""
    allowed = MAP.layers[room] | {room}
    rooms = {room_of(place) for place in places.values()}
    own = room.partition("/")[0]
    return {one for one in rooms if (one if one.partition("/")[0] == own else one.partition("/")[0]) not in allowed}


def writing(root: Path, room: str, places: dict[Import, str]) -> set[str]:
    """Names that write, where the room may only read."""
    found = set()
    for one, place in places.items():
        folder = place.partition("/")[0]
        if (room, folder) in MAP.readers:
            taken = {one.name} if one.name and place.count("/") else names_of(root, f"{place}/{one.name}".strip("/"))
            found |= (taken | (names_of(root, place) if not one.name else set())) & MAP.writers[folder]
    return found


def impure(path: Path, imports: set[Import]) -> set[str]:
    """What a pure room has of the world outside."""
    found = set()
    for one in imports:
        for name in (one.module, f"{one.module}.{one.name}"):
            parts = name.split(".")
            if any(".".join(parts[:count]) in IMPURE for count in range(1, len(parts) + 1)):
                found.add(name.rstrip("."))
                break
    for node in nodes_of(path.read_text()):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("open", "print", "input")
        ):
            found.add(node.func.id)
    return found


def violations(root: Path) -> dict[str, set[str]]:
    """File -> what it imports against the map."""
    found = {}
    for path in files_of(root):
        name = str(path.relative_to(root))
        room = room_of(name.removesuffix(".py"))
        imports = imports_of(path)
        places = {one: place for one in imports if (place := place_of(one))}
        wrong = upward(room, places) | writing(root, room, places)
        if room in MAP.pure:
            wrong |= impure(path, imports)
        if name in EXCEPTIONS:
            wrong = {what for what in wrong if not what.startswith(EXCEPTIONS[name][0])}
        if wrong:
            found[name] = wrong
    return found


def test_the_tree_keeps_to_the_map():
    assert not violations(ROOT)


def test_the_map_was_read_and_has_every_folder():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"bench", "tests", "systemd", "tools"}
    assert packages == set(FOLDERS)
    assert MAP.layers["shm"] == {"headrace"}
    assert MAP.layers["headrace"] == set()
    assert ("arrow", "log") in MAP.readers
    assert MAP.pure


def test_every_room_of_the_map_is_there():
    named = MAP.layers.keys() | MAP.pure | {target for targets in MAP.layers.values() for target in targets}
    assert not [room for room in named if not (ROOT / room / "__init__.py").is_file()]


def test_every_room_of_several_stands_in_the_map():
    """A folder of workers or of the controller is a room: another process, or another part of one. So is one of log."""
    rooms = {
        path.parent.relative_to(ROOT).as_posix()
        for folder in ("workers", "controller", "log")
        for path in (ROOT / folder).glob("*/__init__.py")
    }
    assert rooms <= MAP.layers.keys()


def test_every_name_that_writes_is_there():
    for folder, names in MAP.writers.items():
        defined = {
            name
            for path in (ROOT / folder).rglob("*.py")
            for name in names_of(ROOT, path.relative_to(ROOT).with_suffix("").as_posix())
        }
        assert not names - defined


def test_the_map_has_no_circle():
    left = {folder: {target for target in MAP.layers[folder] if "/" not in target} for folder in FOLDERS}
    while left:
        lowest = {folder for folder, targets in left.items() if not targets & left.keys()}
        assert lowest, f"a circle among {sorted(left)}"
        left = {folder: targets for folder, targets in left.items() if folder not in lowest}


@pytest.mark.parametrize("name", sorted(EXCEPTIONS))
def test_no_exception_is_stale(monkeypatch, name):
    monkeypatch.delitem(EXCEPTIONS, name)
    assert name in violations(ROOT)


def test_kazoo_is_imported_by_the_sessions_only_and_by_the_request_that_kazoo_lacks():
    users = [
        str(path.relative_to(ROOT))
        for path in files_of(ROOT)
        if re.search(r"^\s*(import|from) kazoo", path.read_text(), re.MULTILINE)
    ]
    assert users == [
        "classic/zookeeper.py",
        "controller/zookeeper/multi_read.py",
        "controller/zookeeper/session.py",
    ]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the sources, which tests spoil one file at a time."""
    root = tmp_path_factory.mktemp("tree")
    for path in files_of(ROOT):
        copy = root / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    return root


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "source", "wrong"),
    [
        ("headrace/ids.py", "from headrace.shm import region", "shm"),
        ("protocol/varint.py", "def f():\n    from headrace.node import children", "node"),
        ("log/config.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from headrace.cli import main", "cli"),
        ("workers/network/loop.py", "from headrace import client", "client"),
        ("controller/process.py", "import headrace.client.cluster as c", "client"),
        ("arrow/ranges.py", "from headrace.log.writing.partition_log import PartitionLog", "PartitionLog"),
        ("arrow/ranges.py", "import headrace.log.disk", "Disk"),
        ("arrow/ranges.py", "from headrace.log import disk", "Disk"),
        ("cli/topics.py", "from headrace.shm.ring import RingWriter", "RingWriter"),
        ("cli/topics.py", "from headrace.log.segments.segment import Segment", "Segment"),
        ("workers/network/loop.py", "from headrace.log.writing.partition_log import PartitionLog", "PartitionLog"),
        ("workers/network/handlers/a01_fetch.py", "from headrace.log.disk import Disk", "Disk"),
        ("log/inspection/fault.py", "from headrace.log.state.checkpoints import write_offset_checkpoint", "write_offset_checkpoint"),
        ("log/reading/reader.py", "from headrace.log.inspection.fault import Fault", "log/inspection"),
        ("log/reading/reader.py", "from headrace.log.segments import segment", "log/segments"),
        ("log/state/checkpoints.py", "import headrace.log.reading.reader", "log/reading"),
        ("log/compaction/compaction.py", "from headrace.log.writing.partition_log import PartitionLog", "log/writing"),
        ("log/names.py", "from headrace.log.reading.reader import LogReader", "log/reading"),
        ("workers/network/loop.py", "from headrace.workers.partition.replicas.replica import Replica", "workers/partition"),
        ("workers/partition/replicas/replica.py", "from headrace.workers.network import loop", "workers/network"),
        ("workers/housekeeper/cleaner.py", "from headrace.workers.partition import replicas", "workers/partition"),
        ("workers/housekeeper/cleaner.py", "import headrace.workers.coordinators.group.group", "workers/coordinators/group"),
        ("workers/watched_disk.py", "from headrace.workers.network.connections.outbox import Outbox", "workers/network"),
        ("controller/admin/failures.py", "from headrace.shm.seat import Seat", "shm"),
        ("controller/agent/election.py", "from headrace.controller.active import assignment", "controller/active"),
        ("controller/active/topics/assignment.py", "from headrace.controller.agent.agent import Agent", "controller/agent"),
        ("controller/active/topics/assignment.py", "from headrace.shm.seat import Seat", "shm"),
        ("workers/coordinators/group/group.py", "from headrace.shm.ring import RingWriter", "shm"),
        ("workers/coordinators/group/group.py", "from headrace.log.writing.partition_log import PartitionLog", "log/writing"),
        ("workers/coordinators/group/group.py", "import socket", "socket"),
        ("workers/coordinators/group/group.py", "from time import monotonic", "time"),
        ("workers/coordinators/group/group.py", "from headrace.clock import SystemClock", "headrace.clock"),
        ("workers/coordinators/group/group.py", "def f():\n    return open('x')", "open"),
        ("protocol/frames.py", "import os.path", "os.path"),
        ("protocol/frames.py", "from headrace import clock", "headrace.clock"),
    ],
)  # fmt: skip
def test_a_violation_is_found(tree, name, source, wrong):
    path = tree / name
    whole = path.read_text()
    path.write_text(f"{whole}\n\n{source}\n")
    found = violations(tree)
    path.write_text(whole)
    assert found == {name: {wrong}}


@pytest.mark.parametrize(
    ("source", "places"),
    [
        ("from headrace.workers import network", {"workers"}),
        ("import headrace.log.segments.segment as s", {"log/segments/segment"}),
        ("from headrace import shm, errors", {"shm", "headrace"}),
        ("from headrace.errors import ConfigError", {"headrace"}),
        ("import os, headraces.shm", set()),
    ],
)
def test_the_import_reader_sees_every_form(tmp_path, source, places):
    path = tmp_path / "module.py"
    path.write_text(source)
    assert {place for one in imports_of(path) if (place := place_of(one))} == places
