"""How the tree reads: the mechanical part of our style (CONTRIBUTING.md)."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import LONG_FILES, OF_ONE_SESSION
from tests.support.tree import CODE, ROOT, SOURCES, parsed

FOLDERS = [*SOURCES, "bench", "examples", "tests", "systemd"]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DRAWERS = {"util", "utils", "helper", "helpers", "common", "misc", "shared", "stuff", "tools"}
LINES_MAX = 600
README_LINES = range(5, 81)
TEXT_SUFFIXES = {".py", ".md", ".toml", ".txt", ".xml", ".service", ".slice", ".conf", ".properties", ""}

# a directory of the machine that something was written on, an index that only some network has
MACHINE = re.compile(r"(^|[^\w.~-])/(work|farm|root|home/\w+)/|\bindex-url\b|\btrusted-host\b")
# what a program is given by the process, and nothing else of Python is it for a test to replace
OF_THE_PROCESS = {"'argv'", "'stderr'", "'stdin'", "'stdout'"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|raise NotImplementedError")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git checkout here")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_has_a_readme_of_a_page(folder):
    assert len((ROOT / folder / "README.md").read_text().splitlines()) in README_LINES


ROOMS = [
    path.parent.relative_to(ROOT).as_posix()
    for pattern in ("log/*", "workers/*", "workers/*/*", "controller/active", "controller/active/*")
    for path in sorted(ROOT.glob(f"{pattern}/__init__.py"))
    if path.parent.name != "handlers"  # numbered by their keys
]


@pytest.mark.parametrize("folder", [*SOURCES, *ROOMS])
def test_a_readme_names_every_file_of_its_folder(folder):
    """The file map goes stale otherwise."""
    text = (ROOT / folder / "README.md").read_text()
    names = [path.name for path in (ROOT / folder).glob("*.py") if path.name != "__init__.py"]
    assert not [name for name in names if name not in text and name.removesuffix(".py") not in text]


def test_a_module_opens_with_its_purpose():
    assert not [relative(path) for path in CODE if not ast.get_docstring(parsed(path))]


def test_functions_say_their_types():
    untyped = []
    for path in CODE:
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.FunctionDef):
                continue
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            missing = [
                a.arg for a in arguments if a.annotation is None and a.arg not in ("self", "cls") and a.arg[0] != "_"
            ]
            if missing or (node.returns is None and node.name != "__init__"):
                untyped.append(f"{relative(path)}:{node.lineno}: {node.name}")
    assert not untyped


def test_no_drawer_of_odds_and_ends():
    assert not [relative(path) for path in CODE if path.stem in DRAWERS]


def test_no_file_is_named_for_two_things():
    assert not [relative(path) for path in CODE if "_and_" in path.stem and not path.stem.endswith("_leader_and_isr")]


def test_no_file_is_long():
    assert not [relative(path) for path in CODE if len(path.read_text().splitlines()) > LINES_MAX]


def test_nothing_is_left_unfinished():
    assert not [relative(path) for path in CODE if UNFINISHED.search(path.read_text())]


def test_no_module_creates_temporary_files_by_a_fixed_name():
    named = [relative(path) for path in CODE if re.search(r"[\"'(]/tmp\b", path.read_text())]
    assert named == [
        "spark/submission.py"
    ]  # a setting of Spark's, of hosts that this one does not know: names in it are random


@pytest.mark.process
def test_tracked_files_name_no_machine_and_no_private_index():
    wrong = [
        relative(path)
        for path in tracked()
        if path.suffix in TEXT_SUFFIXES and path != Path(__file__) and MACHINE.search(path.read_text(errors="replace"))
    ]
    assert not wrong


def test_every_package_is_shipped():
    """A plain `pip install .` takes what pyproject.toml lists; the editable one forgives a folder left out."""
    packages = {"headrace.systemd"}
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("__init__.py"):
            name = ".".join(path.parent.relative_to(ROOT).parts)
            if path.parent.name.startswith("pyspark_"):  # PySpark looks for such names at the top
                packages.add(path.parent.name)
            else:
                packages.add(name if folder == "headrace" else f"headrace.{name}")
    assert packages == set(PROJECT["tool"]["setuptools"]["packages"])


def test_every_folder_with_code_is_a_package():
    assert not {relative(path.parent) for path in CODE if not (path.parent / "__init__.py").exists()}


def test_data_files_are_shipped():
    data = PROJECT["tool"]["setuptools"]["package-data"]
    assert (ROOT / "headrace" / "py.typed").exists()
    assert "py.typed" in data["headrace"]


def test_constraints_are_plain_pins_of_every_direct_dependency():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert not [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)]
    pinned = {_normal(line.partition("==")[0]) for line in lines}
    wanted = list(PROJECT["project"]["dependencies"])
    for extra in PROJECT["project"]["optional-dependencies"].values():
        wanted += extra
    assert not {_normal(re.split(r"[<>=! \[]", text)[0]) for text in wanted} - pinned


def test_helpers_of_tests_are_one_package():
    """`tests.<folder>.<name>`, found from the root: no second way to import one, which would make it twice."""
    assert PROJECT["tool"]["pytest"]["ini_options"]["pythonpath"] == ["."]
    assert not [relative(path) for path in TESTS if path.name == "__init__.py"]
    names = {path.stem for path in TESTS} - {"conftest"}
    wrong = []
    for path in TESTS:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                wrong += [f"{relative(path)}: {one.name}" for one in node.names if one.name in names]
            elif isinstance(node, ast.ImportFrom) and (node.level or node.module in names):
                wrong.append(f"{relative(path)}: {node.module}")
            elif isinstance(node, ast.Attribute) and node.attr == "path" and ast.unparse(node) == "sys.path":
                wrong.append(f"{relative(path)}: sys.path")
    assert not wrong


def test_long_files_are_there():
    assert not [name for name in LONG_FILES if not (ROOT / "tests" / name).is_file()]


def test_who_takes_the_spark_session_is_known_to_share_it():
    takes = re.compile(r"^def \w+\([^)]*\bspark\b", re.MULTILINE)
    folders = [ROOT / "tests" / folder for folder in ("spark", "load")]
    files = [path for folder in folders for path in folder.rglob("test_*.py") if takes.search(path.read_text())]
    found = {path.relative_to(ROOT / "tests").as_posix() for path in files}
    assert found == set(OF_ONE_SESSION)


def test_tests_patch_the_module_under_test_and_not_python():
    """`time.sleep` patched reaches every thread of the process and every library: `support/altered.py` does not."""
    wrong = []
    for path in TESTS:
        text = path.read_text()
        if "setattr" not in text:
            continue
        tree = parsed(path)
        imports = [one for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names]
        pythons = {(one.asname or one.name).partition(".")[0] for one in imports if _is_pythons(one.name)}
        for node in ast.walk(tree):
            if not (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr"
            ):
                continue
            target, name = node.args[:2]
            if isinstance(target, ast.Attribute):  # loop_module.os, os.path
                is_pythons = _is_pythons(target.attr) or ast.unparse(target).partition(".")[0] in pythons
            elif isinstance(target, ast.Constant):
                is_pythons = _is_pythons(target.value)
            else:
                is_pythons = isinstance(target, ast.Name) and target.id in pythons
            if is_pythons and ast.unparse(name) not in OF_THE_PROCESS:
                wrong.append(f"{relative(path)}:{node.lineno}: {ast.unparse(node)[:60]}")
    assert not wrong


def _is_pythons(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
