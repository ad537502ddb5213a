"""Build the compiled core: `python -m headrace.compiled_build [--once]`, from a checkout; `setup.py` calls it for a wheel.

    tree        links to the sources under their package names
    translate   mypyc: Python to C, a file for each module (a process of its own: it takes a gigabyte)
    compile     the C compiler, CHUNKS at a time over the cores; headers are read once a chunk
    link        one shared library; then the manifest, which `compiled_core.py` reads

What fails leaves a manifest that says why, and the node runs as pure Python: no build of ours fails for it. HEADRACE_PURE=1 leaves
it out. The translation is of these sources as they are; nothing is written beside them.
Source: mypyc's documentation (`mypyc.build.mypycify`).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.util import source_hash
from pathlib import Path

from headrace.compiled_memory import HEADER_NAME

CHUNKS = 16
OPTIMIZE = "-O2"
GROUP = "headrace_core"  # mypyc: the library's module is GROUP__mypyc
OF_THE_BUILD = (  # but compiled_memory: its C goes in
    "compiled_core", "compiled_build", "compiled_kernel", "kernel_build",
)  # fmt: skip

# What the request path is made of; tests hold that no module outside inherits from a class inside.
PATTERNS = (
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
    "workers/housekeeper/worker.py",  # a process, as the others: subclasses of a compiled class are compiled
    "controller/process.py",
)
LEFT_OUT = (
    "headrace.protocol.codec",  # it calls what is generated, which is not compiled
    "headrace.protocol.message_07",
    "headrace.protocol.batch_builder",  # of clients; its class inherits from the kernel's, where there is one
    "headrace.protocol.client_records",  # of clients
    "headrace.workers.coordinators.group.state",  # Enums whose members carry more than a value
    "headrace.workers.coordinators.group.rebalance_reason",
    "headrace.runtime.stop_flag",  # handlers of signals run in Python's own instructions alone: a cycle needs some
    "headrace.runtime.tasks",  # coroutines of the controller: on no request's path
    "headrace.log.disk",  # what tests and benches put their own in the place of
    "headrace.shm.cluster_view",  # msgspec reads the annotations of their classes, which mypyc does not keep
    "headrace.shm.view_log",
)

_LOADER_SOURCE = """
#include <Python.h>
static PyObject *load(PyObject *self, PyObject *capsule)
{
    void *init = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    return init ? ((PyObject *(*)(void))init)() : NULL;
}
static PyMethodDef methods[] = {{"load", load, METH_O, "Run the init function that a capsule holds."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "headrace_core_load", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_headrace_core_load(void) { return PyModule_Create(&module); }
"""


class BuildFailed(Exception):
    """What a step of the build said."""


def build(root: Path, target: Path, prefix: str) -> str:
    """Build the core of the sources at `root`.

    target    directory for library and manifest, made where it is missing
    prefix    from headrace/ to the other folders: "../" in a checkout, "" in a wheel
    returns   why there is no compiled core; empty where there is
    """
    from headrace.compiled_core import FORMAT, NO_MODULE, PURE, is_pure_asked

    target = target.resolve()  # the linker runs elsewhere
    target.mkdir(parents=True, exist_ok=True)
    modules = sources(root)
    started = time.monotonic()
    failure = f"{PURE} was set when it was built" if is_pure_asked() else ""
    head, lines = f"failed {failure}", []
    if not failure:
        try:
            known = [
                _line(root, name, path, prefix) for name, path in modules.items()
            ]  # before: an edit meanwhile is seen
            known += [_line(root, NO_MODULE, path, prefix) for path in read_besides(root)]
            library = _build_library(root, modules, target)
            head, lines = f"built {library}", known
            _say(f"compiled core: done, {len(modules)} modules in {time.monotonic() - started:.0f} s")
        except BuildFailed as failed:
            failure = str(failed)
            head = f"failed not built: {failure}"
            _say(f"compiled core: NOT built, pure Python will run: {failure}")
    text = "\n".join([FORMAT, head, *lines]) + "\n"
    _replace(target / "manifest.txt", text)
    for old in target.glob("core-*.so"):
        if old.name not in head:
            old.unlink()
    return failure


def sources(root: Path) -> dict[str, str]:
    """The modules of the core: name -> path from `root`."""
    paths = sorted({path.relative_to(root) for pattern in PATTERNS for path in root.glob(pattern)})
    named = {
        ".".join(["headrace", *path.with_suffix("").parts]).replace("headrace.headrace.", "headrace."): str(path)
        for path in paths
    }
    return {name: path for name, path in named.items() if name not in LEFT_OUT and not name.endswith("__init__")}


def read_besides(root: Path) -> list[str]:
    """Files of which types and constants go into what is compiled: paths from `root`."""
    vocabulary = [path for path in root.glob("headrace/*.py") if path.stem not in ("__init__", "clock", *OF_THE_BUILD)]
    left_out = [root.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in LEFT_OUT]
    messages = root.glob("protocol/messages/*.py")
    found = {str(path.relative_to(root)) for path in [*vocabulary, *left_out, *messages]}
    return sorted(found)


def _line(root: Path, name: str, path: str, prefix: str) -> str:
    inside = path.removeprefix("headrace/") if path.startswith("headrace/") else prefix + path
    found = os.stat(root / path)
    digest = source_hash((root / path).read_bytes()).hex()
    return f"{name}\t{inside}\t{found.st_size}\t{found.st_mtime_ns}\t{digest}"


def _build_library(root: Path, modules: dict[str, str], target: Path) -> str:
    compiler = _compiler()
    with tempfile.TemporaryDirectory(prefix="headrace-core-") as temporary:
        work = Path(temporary)
        tree, code = work / "tree", work / "code"
        code.mkdir()
        _link_tree(root, tree)
        _say(f"compiled core 1/3: {len(modules)} modules to C")
        _translate(tree, code, modules)
        chunks = _chunks(code)
        objects = _compile(compiler, code, chunks)
        _say("compiled core 3/3: link")
        digest = source_hash(b"".join((root / path).read_bytes() for path in modules.values())).hex()
        library = f"core-{digest}.so"
        fresh = target / f".{library}.new"
        _run([*compiler, "-shared", "-Wl,-Bsymbolic", "-o", str(fresh), *objects], code)
        fresh.replace(target / library)
    return library


def _compiler() -> list[str]:
    command = c_compiler()
    if _quiet([sys.executable, "-c", "import mypyc.build"]):
        raise BuildFailed("there is no mypyc: install mypy")
    return command


def c_compiler() -> list[str]:
    """Its command, tried with Python's headers. raises BuildFailed"""
    command = shlex.split(os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "cc"))
    if shutil.which(command[0]) is None:
        raise BuildFailed(f"there is no C compiler ({command[0]})")
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        raise BuildFailed(f"there is no {header}: Python's headers are not installed")
    with tempfile.TemporaryDirectory(prefix="headrace-core-") as temporary:
        source = Path(temporary, "probe.c")
        source.write_text("#include <Python.h>\n")
        if _quiet([*command, "-c", "-fPIC", f"-I{header.parent}", str(source), "-o", str(source.with_suffix(".o"))]):
            raise BuildFailed(f"the C compiler does not work ({command[0]})")
    return command


def _quiet(command: list[str]) -> int:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ).returncode


def _link_tree(root: Path, tree: Path) -> None:
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
                if source.suffix == ".py" or (source.is_dir() and (source / "__init__.py").exists()):
                    (place / source.name).symlink_to(source.resolve())
        else:
            place.symlink_to((root / folder).resolve())


def _translate(tree: Path, code: Path, modules: dict[str, str]) -> None:
    environment = {**os.environ, "HEADRACE_PURE": "1", "PYTHONPATH": str(tree), "MYPYPATH": str(tree)}
    command = [sys.executable, "-m", "headrace.compiled_build", "--translate", str(code), *modules]
    _run(command, tree, environment)


def translate(code: Path, modules: list[str]) -> None:
    """In the tree, as a process of its own: write C for the modules."""
    from mypyc.build import mypycify

    from headrace import compiled_memory

    config = code / "mypy.ini"
    config.write_text(
        "[mypy]\nexplicit_package_bases = true\nnamespace_packages = true\nignore_missing_imports = true\n"
    )
    paths = [str(Path(*name.split(".")).with_suffix(".py")) for name in modules]
    compiled_memory.prepare(code, dict(zip(modules, paths, strict=True)))
    mypycify(
        ["--config-file", str(config), "--cache-dir", os.devnull, *paths],
        group_name=GROUP,
        target_dir=str(code),
        multi_file=True,
    )


def _chunks(code: Path) -> list[Path]:
    """The C files in CHUNKS files that include them, of about equal size; mypyc's runtime and the loader as they are."""
    (code / "load.c").write_text(_LOADER_SOURCE)
    chunks = [path for path in sorted(code.glob("*.c")) if not path.name.startswith("__native")]  # mypyc's runtime
    written = code.glob(
        "__native*.c"
    )  # what lies deeper are modules of their own, one a source: the loader does without
    heaps: list[tuple[int, list[Path]]] = [(0, []) for _ in range(CHUNKS)]
    for path in sorted(written, key=lambda path: -path.stat().st_size):
        size, members = min(heaps, key=lambda heap: heap[0])
        heaps[heaps.index((size, members))] = (size + path.stat().st_size, [*members, path])
    for number, (_size, members) in enumerate(heaps):
        chunk = code / f"chunk{number}.c"
        chunk.write_text("".join(f'#include "{path}"\n' for path in members))
        chunks.append(chunk)
    return chunks


def _compile(compiler: list[str], code: Path, chunks: list[Path]) -> list[str]:
    import mypyc

    includes = [f"-I{Path(mypyc.__file__).parent / 'lib-rt'}", f"-I{code}", f"-I{sysconfig.get_path('include')}"]
    flags = [OPTIMIZE, "-g0", "-w", "-fPIC", "-fvisibility=hidden", "-fwrapv", "-DNDEBUG", *includes]
    flags += ["-include", str(code / HEADER_NAME)]
    flags += shlex.split(os.environ.get("CFLAGS", ""))
    done = 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = [
            pool.submit(_run, [*compiler, *flags, "-c", str(path), "-o", str(path.with_suffix(".o"))], code)
            for path in chunks
        ]
        for job in as_completed(jobs):
            job.result()
            done += 1
            _say(f"compiled core 2/3: C to machine code, {done} of {len(chunks)} files")
    return [str(path.with_suffix(".o")) for path in chunks]


def _run(command: list[str], directory: Path, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if "warning:" not in line]
        raise BuildFailed(f"{Path(command[0]).name} ended with {done.returncode}: {' / '.join(lines[-5:])}"[:2000])


def _replace(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    fresh.replace(path)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """`--translate` is a step of the build, in its own process."""
    if sys.argv[1:2] == ["--translate"]:
        translate(Path(sys.argv[2]), sys.argv[3:])
        return 0
    from headrace.compiled_core import CompiledCore, directory
    from headrace.kernel_build import build_where_stale

    root = Path(__file__).resolve().parent.parent
    if not (root / "pyproject.toml").exists():
        _say("compiled core: it is built from a checkout, or with a wheel")
        return 1
    build_where_stale(root)
    known = CompiledCore()
    if known.modules and (known.is_ready() or "--once" in sys.argv):
        _say(
            f"compiled core: {'as the sources are' if known.is_ready() else 'older than the sources, make core renews it'}"
        )
        return 0
    build(root, directory(), "../")
    return 0


if __name__ == "__main__":
    sys.exit(main())
