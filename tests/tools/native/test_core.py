"""The build of the compiled core: what goes in, what its sources may not hold, and that a build that fails breaks nothing."""

import ast
import subprocess
import sys
import tomllib

import pytest

from headrace.compiled_core import WITH_FUNCTIONS, CompiledCore, directory
from tests.support.tree import ROOT
from tools.native import core as native_core
from tools.native.compiler import BuildFailed
from tools.native.core import build, read_besides, sources

PACKAGES = ("headrace", "protocol", "shm", "runtime", "log", "client", "classic", "workers", "controller", "node", "spark", "arrow",
            "migration", "cli", "systemd", "bench")  # fmt: skip
# of these a list does as well as the generator that was written: all is consumed at once, and it is short
CONSUMERS = {
    "sum", "any", "all", "tuple", "list", "set", "frozenset", "sorted", "dict", "max", "min", "join", "dict.fromkeys", "update",
}  # fmt: skip
HELD_OUT_OF_CORE = ("msgspec", "weakref")  # of which mypyc's classes are no classes


@pytest.fixture(autouse=True)
def _build_is_not_pure(monkeypatch):
    monkeypatch.delenv("HEADRACE_PURE", raising=False)


def parsed(path):
    return ast.parse((ROOT / path).read_text())


def test_what_a_request_passes_is_in_the_core():
    inside = sources(ROOT)
    for name in (
        "protocol.frames", "protocol.apis", "shm.ring", "runtime.duty_cycle",
        "workers.network.loop", "workers.network.handlers.a00_produce",
        "workers.network.handlers.a01_fetch", "workers.partition.append", "workers.partition.replication.fetcher",
        "log.writing.leader_append", "log.writing.follower_append", "log.reading.reader", "workers.coordinators.group.group_coordinator",
    ):  # fmt: skip
        assert f"headrace.{name}" in inside


def test_each_cycle_has_instructions_of_pythons_own_in_which_a_handler_of_a_signal_runs():
    """One of compiled code alone heard no SIGTERM that came outside of a system call, and was killed at the stop."""
    assert "headrace.runtime.stop_flag" not in sources(ROOT)
    (kind,) = [node for node in parsed("runtime/stop_flag.py").body if getattr(node, "name", "") == "StopFlag"]
    (is_set,) = [node for node in kind.body if getattr(node, "name", "") == "is_set"]
    assert [ast.unparse(one) for one in is_set.decorator_list] == ["property"]
    cycles = [node for node in ast.walk(parsed("runtime/duty_cycle.py")) if isinstance(node, ast.While)]
    assert "not self._stop.is_set" in [ast.unparse(node.test) for node in cycles]


def test_what_goes_into_types_and_constants_makes_the_core_stale_too():
    besides = read_besides(ROOT)
    assert {
        "headrace/limits.py",
        "headrace/settings.py",
        "protocol/messages/fetch_request.py",
        "protocol/codec.py",
        "log/disk.py",
        "headrace/native/memory.h",
    } <= set(besides)
    assert not set(besides) & set(sources(ROOT).values())


def test_a_wheel_carries_the_c_that_was_compiled_in():
    """Otherwise its core would be stale where it is installed."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["headrace"]
    carried = {path.relative_to(ROOT).as_posix() for pattern in patterns for path in (ROOT / "headrace").glob(pattern)}
    needed = {path for path in read_besides(ROOT) if not path.endswith(".py")}
    assert "headrace/native/core.h" in needed
    assert needed <= carried


def test_no_class_outside_inherits_from_one_inside():
    """A class of the interpreter can't; exceptions and tuples can, they are no native classes."""
    inside = sources(ROOT)
    native = {}
    for name, path in inside.items():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and not node.bases:
                native[node.name] = name
    for folder in PACKAGES:
        for path in (ROOT / folder).rglob("*.py"):
            if str(path.relative_to(ROOT)) in inside.values():
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    bases = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
                    assert not bases & native.keys(), f"{path}: {node.name}"


def test_generators_that_mypyc_makes_lists_of_are_consumed_at_once():
    """An endless one, or one that is to stop early, is a loop or a function with `yield` in the core."""
    for path in sources(ROOT).values():
        tree = parsed(path)
        named = {id(one) for node in ast.walk(tree) if isinstance(node, ast.Assign) for one in [node.value]}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                for argument in node.args:
                    if isinstance(argument, ast.GeneratorExp) and id(argument) not in named:
                        text = ast.unparse(argument)
                        assert "count()" not in text, f"{path}: {text}"
                        assert called != "next" or "iterate" not in text, f"{path}: {text}"


def test_no_comprehension_of_the_core_holds_a_function():
    """mypyc gives such a comprehension an environment and does not set it where it lies in a nested function: each call raised."""
    comprehensions = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
    found = [
        f"{path}:{node.lineno}"
        for path in sources(ROOT).values()
        for node in ast.walk(parsed(path))
        if isinstance(node, comprehensions) and any(isinstance(one, ast.Lambda) for one in ast.walk(node))
    ]
    assert not found


def test_no_loop_of_the_core_changes_the_end_of_its_range():
    """mypyc reads a variable that is the end of a range again at each turn; Python reads it once."""
    found = []
    for path in sources(ROOT).values():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.For) and ast.unparse(node.iter).startswith("range("):
                ends = {one.id for one in ast.walk(node.iter) if isinstance(one, ast.Name)}
                stores = {
                    one.id
                    for part in [node.target, *node.body]
                    for one in ast.walk(part)
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
                }
                found += [f"{path}:{node.lineno}: {name}" for name in ends & stores]
    assert not found


def test_enums_of_the_core_have_no_init():
    for path in sources(ROOT).values():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in node.bases):
                assert "__init__" not in {one.name for one in node.body if isinstance(one, ast.FunctionDef)}, path


def test_no_class_of_the_core_inherits_from_a_threads_local():
    """mypyc lays its attributes over the base's own memory: they were one for all threads, and reading them by name was a crash."""
    found = [
        f"{path}: {node.name}"
        for path in sources(ROOT).values()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef)
        and {ast.unparse(base).split(".")[-1] for base in node.bases} & {"local", "_local"}
    ]
    assert not found


def test_tuples_of_the_core_have_fields_that_mypyc_can_name():
    """Not `object` nor `memoryview` alone: the class would not come into being."""
    for path in sources(ROOT).values():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and "NamedTuple" in {ast.unparse(base) for base in node.bases}:
                types = {ast.unparse(one.annotation) for one in node.body if isinstance(one, ast.AnnAssign)}
                assert not types & {"object", "memoryview", "bytearray"}, f"{path}: {node.name}"


def test_tuples_of_the_core_name_classes_that_stand_before_them():
    """mypyc looks the types of a NamedTuple's fields up when it makes the class: one that comes later is not there, and it crashes."""
    for path in sources(ROOT).values():
        tree = parsed(path)
        places = {node.name: node.lineno for node in tree.body if isinstance(node, ast.ClassDef)}
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and "NamedTuple" in {ast.unparse(base) for base in node.bases}:
                fields = [one.annotation for one in node.body if isinstance(one, ast.AnnAssign)]
                named = {one.id for field in fields for one in ast.walk(field) if isinstance(one, ast.Name)}
                assert not [name for name in named if places.get(name, 0) > node.lineno], f"{path}: {node.name}"


@pytest.mark.process
@pytest.mark.parametrize(
    ("compiler", "reason"),
    [
        ("no-such-compiler", "there is no C compiler (no-such-compiler)"),
        ("false", "the C compiler does not work (false)"),
    ],
)
def test_without_a_compiler_the_build_says_why_and_pure_python_runs(tmp_path, monkeypatch, capfd, compiler, reason):
    monkeypatch.setenv("CC", compiler)
    assert build(ROOT, directory(tmp_path), "../") == reason
    assert reason in capfd.readouterr().err
    core = CompiledCore(tmp_path)
    assert not core.modules
    assert core.reason == f"not built: {reason}"


def test_a_translation_that_fails_leaves_pure_python(tmp_path, monkeypatch):
    def refuse(_root, _tree, _code, _arguments):
        raise BuildFailed("mypyc said no")

    monkeypatch.setattr(native_core, "_translate", refuse)
    monkeypatch.setattr(native_core, "c_compiler", lambda: ["cc"])
    assert build(ROOT, directory(tmp_path), "../") == "mypyc said no"
    assert CompiledCore(tmp_path).reason == "not built: mypyc said no"


def test_mypyc_is_found_where_pip_puts_it(tmp_path, monkeypatch):
    """A wheel is built in an environment that PYTHONPATH alone leads to."""
    seen = {}
    monkeypatch.setattr(native_core, "run", lambda _command, _directory, environment: seen.update(environment))
    monkeypatch.setenv("PYTHONPATH", "/of/pip")
    native_core._translate(ROOT, tmp_path, tmp_path, [])
    assert seen["PYTHONPATH"].split(":") == [str(ROOT), "/of/pip"]


def test_functions_that_do_not_compile_are_left_out_and_the_manifest_says_so(tmp_path, monkeypatch):
    def make(_root, _modules, _compiler, library, is_plain):
        if not is_plain:
            raise BuildFailed("cc ended with 1")
        library.touch()
        return ""

    monkeypatch.setattr(native_core, "_make", make)
    monkeypatch.setattr(native_core, "c_compiler", lambda: ["cc"])
    assert build(ROOT, directory(tmp_path), "../") == ""
    assert CompiledCore(tmp_path).functions == "without struct functions: with them, cc ended with 1"


def test_a_name_without_a_file_fails_the_build_and_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(native_core, "LEFT_OUT", ("shm/no_such_noun.py",))
    reason = build(ROOT, directory(tmp_path), "../")
    assert reason == "there is no shm/no_such_noun.py, which tools/native/core.py leaves out"


def test_headrace_pure_leaves_the_build_out(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_PURE", "1")
    build(ROOT, directory(tmp_path), "../")
    monkeypatch.delenv("HEADRACE_PURE")
    assert "HEADRACE_PURE" in CompiledCore(tmp_path).reason


def test_the_manifest_lists_what_was_compiled_and_an_old_library_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(native_core, "_build_library", lambda _root, _modules, _target: ("core-new.so", ""))
    target = directory(tmp_path / "headrace")
    target.mkdir(parents=True)
    for name in ("core-old.so", "core-new.so"):
        (target / name).touch()
    assert build(ROOT, target, "../") == ""
    assert [path.name for path in target.glob("*.so")] == ["core-new.so"]
    core = CompiledCore(tmp_path / "headrace")
    assert core.modules.keys() == sources(ROOT).keys()
    assert core.functions == WITH_FUNCTIONS


def test_a_source_that_is_edited_while_it_is_built_is_not_taken_for_compiled(tmp_path, monkeypatch):
    source = tmp_path / "protocol" / "noun.py"
    source.parent.mkdir()
    source.write_text("NUMBER = 1\n")

    def edited(_root, _modules, target):
        source.write_text("NUMBER = 2\n")
        return "core-new.so", ""

    monkeypatch.setattr(native_core, "PATTERNS", ("protocol/*.py",))
    monkeypatch.setattr(native_core, "LEFT_OUT", ())
    monkeypatch.setattr(native_core, "_build_library", edited)
    assert build(tmp_path, directory(tmp_path / "headrace"), "../") == ""
    core = CompiledCore(tmp_path / "headrace")
    assert core.modules.keys() == {"headrace.protocol.noun"}
    assert not core.is_ready()
    assert core.reason.endswith("noun.py is not what was compiled")


@pytest.mark.process
@pytest.mark.skipif(not CompiledCore().modules, reason="the compiled core was not built here")
def test_every_module_of_the_core_imports_in_its_compiled_form():
    program = (
        "import importlib, sys\n"
        "from headrace import compiled_core\n"
        "core = compiled_core._core\n"
        "if not core.is_ready(): sys.exit(print(core.reason))\n"
        "for name in list(core.modules):\n"
        "    module = importlib.import_module(name)\n"
        "    assert module.__file__.endswith('.so'), name\n"
    )
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    if done.stdout:
        pytest.skip(done.stdout.strip())
