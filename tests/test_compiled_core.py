"""Which form runs: the library where every file is as it was compiled, pure Python with a reason where not."""

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import source_hash

import pytest

from headrace import compiled_core
from headrace.compiled_core import FORMAT, LIBRARY, NOT_BUILT, WITH_FUNCTIONS, CompiledCore, directory

SOURCE = "VALUE = 1\n"


class FakeLibrary:
    """In the place of what the C compiler makes: `module` is what an init function returns."""

    init_headrace___one = "the capsule of headrace.one"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of one compiled module and one file that went into it."""
    monkeypatch.delenv("HEADRACE_PURE", raising=False)
    monkeypatch.delitem(sys.modules, LIBRARY, raising=False)
    place = tmp_path / "headrace"
    place.mkdir()
    lines = [FORMAT, "built core-1.so", WITH_FUNCTIONS]
    for module, name in (("headrace.one", "one.py"), ("-", "limits.py")):
        path = place / name
        path.write_text(SOURCE)
        found = path.stat()
        digest = source_hash(path.read_bytes()).hex()
        lines.append(f"{module}\t{name}\t{found.st_size}\t{found.st_mtime_ns}\t{digest}")
    directory(place).mkdir(parents=True)
    write_manifest(place, "\n".join(lines) + "\n")
    return place


@pytest.fixture
def library(monkeypatch):
    """The library opens; what was asked of it is in the list."""
    loaded = []
    module = type(sys)("headrace.one")

    class Loader:
        @staticmethod
        def load(capsule):
            loaded.append(capsule)
            return module

    made = {LIBRARY: FakeLibrary, compiled_core.LOADER: Loader}
    monkeypatch.setattr(compiled_core, "open_extension", lambda name, _path: made[name])
    return loaded


def write_manifest(package, text):
    (directory(package) / "manifest.txt").write_text(text)


def test_a_module_of_the_manifest_comes_from_the_library(package, library):
    core = CompiledCore(package)
    spec = core.find_spec("headrace.one")
    core.exec_module(core.create_module(spec))
    assert library == ["the capsule of headrace.one"]
    assert spec.origin == str(package / "one.py")
    assert core.find_spec("headrace.two") is None
    assert core.find_spec("headrace.limits") is None


@pytest.mark.parametrize("name", ["one.py", "limits.py"])
def test_after_an_edit_of_any_file_all_modules_are_pure_and_the_reason_names_it(package, library, name):
    (package / name).write_text(SOURCE.replace("1", "2"))
    core = CompiledCore(package)
    assert core.find_spec("headrace.one") is None
    assert name in core.reason
    assert not core.modules


def test_a_file_that_is_gone_is_no_longer_what_was_compiled(package, library):
    (package / "one.py").unlink()
    core = CompiledCore(package)
    assert core.find_spec("headrace.one") is None
    assert "one.py" in core.reason


def test_a_file_with_another_time_and_the_same_content_is_the_same(package, library):
    os.utime(package / "one.py", ns=(1, 1))
    core = CompiledCore(package)
    assert core.find_spec("headrace.one") is not None


@pytest.mark.parametrize(("value", "is_pure"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_the_environment_asks_for_pure_python(package, library, monkeypatch, value, is_pure):
    monkeypatch.setenv("HEADRACE_PURE", value)
    core = CompiledCore(package)
    assert (core.find_spec("headrace.one") is None) == is_pure
    assert ("HEADRACE_PURE" in core.reason) == is_pure


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", NOT_BUILT),
        ("another format\nbuilt core-1.so\n", NOT_BUILT),
        (FORMAT + "\n", NOT_BUILT),
        (FORMAT + "\nbuilt core-1.so\n", NOT_BUILT),
        (FORMAT + f"\nbuilt core-1.so\n{WITH_FUNCTIONS}\ntruncated", NOT_BUILT),
        (FORMAT + "\nfailed not built: there is no C compiler (cc)\n", "not built: there is no C compiler (cc)"),
    ],
)
def test_a_manifest_without_a_library_says_why(package, library, text, reason):
    write_manifest(package, text)
    core = CompiledCore(package)
    assert core.reason == reason
    assert core.find_spec("headrace.one") is None


def test_without_a_manifest_nothing_was_built(package, library):
    (directory(package) / "manifest.txt").unlink()
    assert CompiledCore(package).reason == NOT_BUILT


def test_a_library_that_does_not_load_leaves_pure_python(package):
    (directory(package) / "core-1.so").write_text("no library")
    core = CompiledCore(package)
    assert core.find_spec("headrace.one") is None
    assert "does not load" in core.reason


def test_the_directory_is_that_of_this_python(tmp_path):
    assert EXTENSION_SUFFIXES[0] == f".{directory(tmp_path).name}.so"


@pytest.mark.process
def test_the_tests_own_process_is_pure_and_what_it_starts_is_as_the_environment_says():
    if os.environ.get("TESTS_COMPILED"):
        pytest.skip("this run takes the environment's form")
    assert compiled_core.describe() == "pure Python: HEADRACE_PURE is set"
    command = [sys.executable, "-c", "from headrace import compiled_core; print(compiled_core.describe())"]
    told = subprocess.check_output(command, text=True)
    assert ("HEADRACE_PURE" in told) == bool(os.environ.get("HEADRACE_PURE", "") not in ("", "0"))
