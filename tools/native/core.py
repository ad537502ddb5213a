"""Build the compiled core: some modules of the sources as one shared library, by mypyc.

    tree        links to the sources under their package names
    translate   mypyc: Python to C, a file for each module (`translate.py`, a process of its own)
    compile     the C compiler, CHUNKS at a time over the cores; headers are read once a chunk
    link        one shared library; then the manifest, which `headrace/compiled_core.py` reads

What fails leaves a manifest that says why, and the node runs as pure Python. Where this mypy does not take our C functions, or what
comes of it does not compile, the core is built without them, and the manifest says that. Nothing is written beside the sources.
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from headrace.compiled_core import FORMAT, NO_MODULE, PURE, WITH_FUNCTIONS, WITHOUT_FUNCTIONS, is_pure_asked
from tools.native import translate
from tools.native.compiler import (
    BuildFailed,
    c_compiler,
    file_line,
    flags_of_environment,
    hash_of,
    replace,
    run,
    say,
)

CHUNKS: Final = 16
OPTIMIZE: Final = "-O2"
C_FOLDER: Final = "headrace/native"
C_HEADER: Final = "core.h"  # read before each C file

# The rooms on the path of a request: produces and fetches, followers, coordinators. A class of the core has no subclass outside of it:
# hence the processes of the controller and the housekeeper.
PATTERNS: Final = (
    "headrace/clock.py",
    "protocol/*.py",
    "shm/*.py",
    "runtime/*.py",
    "log/*.py",
    "log/reading/*.py",
    "log/recovery/*.py",
    "log/segments/*.py",
    "log/state/*.py",
    "log/writing/*.py",
    "workers/*.py",
    "workers/network/**/*.py",
    "workers/partition/**/*.py",
    "workers/coordinators/**/*.py",
    "workers/housekeeper/worker.py",
    "controller/process.py",
)
LEFT_OUT: Final = (
    "protocol/codec.py",  # it calls what is generated, which is not compiled
    "protocol/message_07.py",
    "protocol/batch_builder.py",  # of clients; its class inherits from the kernel's, where there is one
    "protocol/client_records.py",  # of clients
    "workers/coordinators/group/state.py",  # Enums whose members carry more than a value
    "workers/coordinators/group/rebalance_reason.py",
    "workers/coordinators/transaction/state.py",
    "runtime/stop_flag.py",  # handlers of signals run in Python's own instructions alone: a cycle needs some
    "runtime/tasks.py",  # coroutines of the controller: on no request's path
    "log/disk.py",  # tests and benches put their own in its place
    "shm/cluster_view.py",  # msgspec reads the annotations of their classes, which mypyc does not keep
    "shm/view_log.py",
)


def build(root: Path, target: Path, prefix: str) -> str:
    """Build the core of the sources at `root`.

    target    directory for library and manifest, made where it is missing
    prefix    from headrace/ to the other folders: "../" in a checkout, "" in a wheel
    returns   why there is no compiled core; empty where there is
    """
    target = target.resolve()  # the linker runs elsewhere
    target.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    failure = f"{PURE} was set when it was built" if is_pure_asked() else ""
    lines = [f"failed {failure}"]
    if not failure:
        try:
            modules = sources(root)
            known = [f"{name}\t{file_line(root, path, prefix)}" for name, path in modules.items()]  # before: an edit
            known += [
                f"{NO_MODULE}\t{file_line(root, path, prefix)}" for path in read_besides(root)
            ]  # meanwhile is seen
            library, why_plain = _build_library(root, modules, target)
            functions = f"{WITHOUT_FUNCTIONS}: {why_plain}" if why_plain else WITH_FUNCTIONS
            lines = [f"built {library}", functions, *known]
            say(f"compiled core: done, {len(modules)} modules {functions} in {time.monotonic() - started:.0f} s")
        except BuildFailed as failed:
            failure = str(failed)
            lines = [f"failed not built: {failure}"]
            say(f"compiled core: NOT built, pure Python will run: {failure}")
    replace(target / "manifest.txt", "\n".join([FORMAT, *lines]) + "\n")
    for old in target.glob("core-*.so"):
        if old.name not in lines[0]:
            old.unlink()
    return failure


def sources(root: Path) -> dict[str, str]:
    """The modules of the core: name -> path from `root`. raises BuildFailed, where a name of LEFT_OUT has no file"""
    if missing := [name for name in LEFT_OUT if not (root / name).exists()]:
        raise BuildFailed(f"there is no {missing[0]}, which tools/native/core.py leaves out")
    found = {path.relative_to(root) for pattern in PATTERNS for path in root.glob(pattern)}
    kept = [path for path in sorted(found) if str(path) not in LEFT_OUT and path.name != "__init__.py"]
    return {_module_name(path): str(path) for path in kept}


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts if parts[0] == "headrace" else ("headrace", *parts))


def read_besides(root: Path) -> list[str]:
    """Files that are not compiled, but go into what is: our C, the vocabulary, messages, what the core imports. Paths from `root`."""
    compiled = set(sources(root).values())
    besides = [*root.glob(f"{C_FOLDER}/*.[ch]"), *root.glob("headrace/*.py"), *root.glob("protocol/messages/*.py")]
    found = {str(path.relative_to(root)) for path in besides}
    for path in compiled:
        found.update(_imported(root, (root / path).read_text()))
    form = {f"headrace/{name}.py" for name in ("__init__", "compiled_core", "compiled_kernel")}
    return sorted(found - compiled - form)


def _imported(root: Path, source: str) -> Iterator[str]:
    """Files of ours that a source imports, wherever it does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        else:
            continue
        for name in names:
            package, *parts = name.split(".")
            if package == "headrace" and parts:
                path = Path(*parts).with_suffix(".py")
                yield from (str(one) for one in (path, "headrace" / path) if (root / one).exists())


def _build_library(root: Path, modules: dict[str, str], target: Path) -> tuple[str, str]:
    """(the library's name; why it has no functions of ours, empty where it has)"""
    compiler = c_compiler()
    if find_spec("mypyc") is None:
        raise BuildFailed("there is no mypyc: install mypy")
    library = f"core-{hash_of(root, [*modules.values(), *read_besides(root)])}.so"
    fresh = target / f".{library}.new"
    try:
        why_plain = _make(root, modules, compiler, fresh, is_plain=False)
    except BuildFailed as failed:
        why_plain = f"with them, {failed}"
        say(f"compiled core: once more without our C functions: {failed}")
        _make(root, modules, compiler, fresh, is_plain=True)
    fresh.replace(target / library)
    return library, why_plain


def _make(root: Path, modules: dict[str, str], compiler: list[str], library: Path, is_plain: bool) -> str:
    """Write the library. returns why there are no functions of ours, empty where there are or none were wanted. raises BuildFailed"""
    with tempfile.TemporaryDirectory(prefix="headrace-core-") as temporary:
        tree, code = Path(temporary, "tree"), Path(temporary, "code")
        code.mkdir()
        link_tree(root, tree)
        say(f"compiled core 1/3: {len(modules)} modules to C")
        _translate(root, tree, code, ["--plain"] * is_plain + list(modules))
        why_plain = (code / translate.PLAIN).read_text() if (code / translate.PLAIN).exists() else ""
        objects = _compile(compiler, root / C_FOLDER, code, not is_plain and not why_plain)
        say("compiled core 3/3: link")
        run([*compiler, "-shared", "-Wl,-Bsymbolic", "-o", str(library), *objects], code)
        return why_plain


def link_tree(root: Path, tree: Path) -> None:
    """The packages as they are imported, `tree/headrace/...`: a folder of links to the files of `headrace/` and to the other folders."""
    with open(root / "pyproject.toml", "rb") as file:
        folders: dict[str, str] = tomllib.load(file)["tool"]["setuptools"]["package-dir"]
    for package, folder in sorted(folders.items()):
        place = tree.joinpath(*package.split("."))
        if not package.startswith("headrace") or place.exists():
            continue
        if package == "headrace":
            place.mkdir(parents=True)
            for source in (root / folder).iterdir():
                if source.suffix == ".py":
                    (place / source.name).symlink_to(source.resolve())
        else:
            place.symlink_to((root / folder).resolve())


def _translate(root: Path, tree: Path, code: Path, arguments: list[str]) -> None:
    search = os.pathsep.join(filter(None, [str(root.resolve()), os.environ.get("PYTHONPATH")]))  # pip gives mypy by it
    environment = {**os.environ, PURE: "1", "PYTHONPATH": search, "MYPYPATH": str(tree)}
    run([sys.executable, "-m", translate.__name__, str(code), *arguments], tree, environment)


def _chunks(code: Path) -> list[Path]:
    """The C files in CHUNKS files that include them, of about equal size; mypyc's runtime and the loader as they are."""
    written = list(
        code.glob("__native*.c")
    )  # what lies deeper are modules of their own, one a source: the loader does without
    chunks = [path for path in sorted(code.glob("*.c")) if path not in written]  # mypyc's runtime
    heaps: list[tuple[int, list[Path]]] = [(0, []) for _ in range(CHUNKS)]
    for path in sorted(written, key=lambda path: -path.stat().st_size):
        size, members = min(heaps, key=lambda heap: heap[0])
        heaps[heaps.index((size, members))] = (size + path.stat().st_size, [*members, path])
    for number, (_size, members) in enumerate(heaps):
        chunk = code / f"chunk{number}.c"
        chunk.write_text("".join(f'#include "{path}"\n' for path in members))
        chunks.append(chunk)
    return chunks


def _compile(compiler: list[str], c_folder: Path, code: Path, has_functions: bool) -> list[str]:
    import mypyc

    shutil.copy(c_folder / "loader.c", code)
    chunks = _chunks(code)
    runtime = Path(mypyc.__file__).parent / "lib-rt"
    includes = [f"-I{path}" for path in (runtime, code, c_folder.resolve(), sysconfig.get_path("include"))]
    flags = [OPTIMIZE, "-g0", "-w", "-fPIC", "-fvisibility=hidden", "-fwrapv", "-DNDEBUG", *includes]
    if has_functions:
        flags += ["-include", C_HEADER]
    flags += flags_of_environment()
    done = 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = [
            pool.submit(run, [*compiler, *flags, "-c", str(path), "-o", str(path.with_suffix(".o"))], code)
            for path in chunks
        ]
        for job in as_completed(jobs):
            job.result()
            done += 1
            say(f"compiled core 2/3: C to machine code, {done} of {len(chunks)} files")
    return [str(path.with_suffix(".o")) for path in chunks]
