"""Native or pure Python: which form runs is chosen here, when headrace is imported, and here alone.

Each of the two native parts is used where it was built and its sources still are what was compiled. Otherwise pure Python runs:

    compiled core    some modules (`tools/native/core.py` lists them) as one library     this file
    record kernel    `protocol/kernel/`, C functions that walk records                   `compiled_kernel.py`

HEADRACE_PURE=1 is pure Python at any time. `headrace version` says which form runs, and why. Built they are by `python -m tools.native`
(`make core`) in a checkout, by `setup.py` in a wheel:

    headrace/_compiled/TAG/manifest.txt     TAG: of the Python that it was built for, cpython-311-x86_64-linux-gnu
    headrace/_compiled/TAG/core-HASH.so     all modules in one: calls between them are C calls

    manifest    line 1     a FORMAT that is not ours: pure Python
                line 2     built NAME of the library | failed REASON
                line 3     with struct functions | without struct functions: REASON
                others     module, or - | path from headrace/ | size | modified, ns | hash, by tabs

`headrace/__init__.py` puts a finder before Python's own. It answers the import of a module of the manifest from the library, if every
file of the manifest still is what was compiled. If one was edited, or is gone, all of them run as pure Python: calls within the library
would go round an edited module. Lines with - are of files that are not compiled, but whose types, constants and C went into what is. A
file of the same size and time is the same; with another time its hash decides, as after a checkout or in a wheel.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec, source_hash, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

FORMAT = "headrace compiled core 2"
PURE = "HEADRACE_PURE"
LIBRARY = "headrace_core__mypyc"  # the name that mypyc gives the module which holds all others
LOADER = "headrace_core_load"
PACKAGE = Path(__file__).parent
NO_MODULE = "-"
WITH_FUNCTIONS = "with struct functions"  # in C (`headrace/native`): mypyc took them
WITHOUT_FUNCTIONS = "without struct functions"
NOT_BUILT = "the compiled core was not built here, make core builds it"


def is_pure_asked() -> bool:
    """Whether the environment asks for pure Python: HEADRACE_PURE is set, and neither empty nor 0."""
    return os.environ.get(PURE, "") not in ("", "0")


def directory(package: Path = PACKAGE) -> Path:
    """Where the library and the manifest of this Python lie, or would."""
    return package / "_compiled" / EXTENSION_SUFFIXES[0].strip(".").removesuffix(".so")


class CompiledCore:
    """Finds and loads what the manifest has (PEP 451); knows why it does not.

    modules    name -> path of the source, of those that come from the library
    functions  whether they have our C functions, in words
    reason     why there are no modules; empty where there are
    """

    def __init__(self, package: Path = PACKAGE) -> None:
        self.modules: dict[str, str] = {}
        self.functions = ""
        self.reason = ""
        self._files: list[tuple[str, int, int, str]] = []  # path, size, time, hash
        self._library: Any = None
        self._load: Any = None
        if is_pure_asked():
            self.reason = f"{PURE} is set"
            return
        self._directory = directory(package)
        try:
            self._read((self._directory / "manifest.txt").read_text(), package)
        except (OSError, ValueError, IndexError):  # the last two: it is truncated, or of another make
            self.modules, self.reason = {}, NOT_BUILT

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module in the library, None for any other."""
        if name not in self.modules or not self.is_ready():
            return None
        return ModuleSpec(name, self, origin=self.modules[name])  # type: ignore[arg-type]

    def is_ready(self) -> bool:
        """Check the sources and open the library, once; whether modules come from it."""
        if self._library is None and self.modules:
            self.reason = why_stale(self._files) or self._open()
            if self.reason:
                self.modules = {}
        return bool(self.modules)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, which has run when it is returned: that is how mypyc's begin."""
        module: ModuleType = self._load(getattr(self._library, "init_" + spec.name.replace(".", "___")))
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to run. (Imports within the library don't come here at all.)"""

    def _read(self, text: str, package: Path) -> None:
        lines = text.splitlines()
        state, _, rest = lines[1].partition(" ") if len(lines) > 1 and lines[0] == FORMAT else ("", "", "")
        if state != "built":
            self.reason = rest if state == "failed" else NOT_BUILT
            return
        self._name, self.functions = rest, lines[2]
        for line in lines[3:]:
            name, place, size, modified_ns, digest = line.split("\t")
            path = f"{package}/{place}"
            self._files.append((path, int(size), int(modified_ns), digest))
            if name != NO_MODULE:
                self.modules[name] = path

    def _open(self) -> str:
        path = str(self._directory / self._name)
        try:
            self._load = open_extension(LOADER, path).load
            library = open_extension(LIBRARY, path)
        except (ImportError, AttributeError) as failure:
            return f"the compiled core does not load: {failure}"
        sys.modules[LIBRARY] = self._library = library
        return ""


def why_stale(files: list[tuple[str, int, int, str]]) -> str:
    """Which of the files (path, size, time in ns, hash) is not what it was, in words; empty where all are."""
    for path, size, modified_ns, digest in files:
        try:
            found = os.stat(path)
            if found.st_size == size and (found.st_mtime_ns == modified_ns or _hash(path) == digest):
                continue
        except OSError:
            pass
        return f"{os.path.normpath(path)} is not what was compiled"
    return ""


def _hash(path: str) -> str:
    with open(path, "rb", 0) as file:
        return source_hash(file.read()).hex()


def open_extension(name: str, path: str) -> Any:
    """A module of a shared library, which begins. raises ImportError, AttributeError"""
    spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_core = CompiledCore()


def install() -> None:
    """Let imports of compiled modules be answered from the library, before their sources are found."""
    if _core.modules:
        sys.meta_path.insert(0, _core)


def describe() -> str:
    """The form that runs: `compiled core, 267 modules with struct functions`, or `pure Python: REASON`."""
    if _core.is_ready():
        return f"compiled core, {len(_core.modules)} modules {_core.functions}"
    return f"pure Python: {_core.reason}"
