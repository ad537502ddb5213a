"""Build the record kernel: `python -m headrace.kernel_build`, from a checkout; `compiled_build.py` and `setup.py` call it.

One call of the C compiler over `protocol/kernel/`, two seconds; no mypyc, and nothing of the core's. What fails leaves a
manifest that says why (`compiled_kernel.py`), and the Python walkers run: no build of ours fails for it.

    python -m headrace.kernel_build --sanitized DIRECTORY    a library that reports what C leaves undefined; for tests
"""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
import tempfile
from importlib.util import source_hash
from pathlib import Path
from typing import Final

from headrace import compiled_build
from headrace.compiled_core import PURE, directory, is_pure_asked
from headrace.compiled_kernel import FORMAT, MANIFEST, MODULE, load

FOLDER: Final = "protocol/kernel"
FLAGS: Final = ("-O2", "-g0", "-w", "-DNDEBUG")
SANITIZED_FLAGS: Final = (
    "-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
)  # fmt: skip


def sources(root: Path) -> list[str]:
    """What the kernel is made of, headers too: paths from the root."""
    return sorted(str(path.relative_to(root)) for path in root.glob(f"{FOLDER}/*.[ch]"))


def build_kernel(root: Path, target: Path, prefix: str) -> str:
    """Build the kernel of the sources at `root`.

    target    directory for library and manifest, made where it is missing
    prefix    from headrace/ to the other folders: "../" in a checkout, "" in a wheel
    returns   why there is no kernel; empty where there is
    """
    target = target.resolve()
    target.mkdir(parents=True, exist_ok=True)
    failure = f"{PURE} was set when it was built" if is_pure_asked() else ""
    lines: list[str] = []
    library = ""
    if not failure:
        try:
            paths = sources(root)
            digest = source_hash(b"".join((root / path).read_bytes() for path in paths)).hex()
            library = f"kernel-{digest}.so"
            fresh = target / f".{library}.new"
            known = [_line(root, path, prefix) for path in paths]  # before: an edit meanwhile is seen
            link(root, fresh, FLAGS)
            fresh.replace(target / library)
            lines = known
            compiled_build._say("record kernel: done")
        except compiled_build.BuildFailed as failed:
            failure = f"not built: {failed}"
            compiled_build._say(f"record kernel: NOT built, Python walks records: {failed}")
    head = f"failed {failure}" if failure else f"built {library}"
    compiled_build._replace(target / MANIFEST, "\n".join([FORMAT, head, *lines]) + "\n")
    for old in target.glob("kernel-*.so"):
        if old.name != library:
            old.unlink()
    return failure


def link(root: Path, library: Path, flags: tuple[str, ...]) -> None:
    """The sources as one shared library. raises BuildFailed"""
    compiler = compiled_build.c_compiler()
    made = [str(root / path) for path in sources(root) if path.endswith(".c")]
    command = [
        *compiler, *flags, "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-fwrapv", f"-I{sysconfig.get_path('include')}",
        *shlex.split(os.environ.get("CFLAGS", "")), "-shared", "-o", str(library), *made,
    ]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="headrace-kernel-") as work:
        compiled_build._run(command, Path(work))


def _line(root: Path, path: str, prefix: str) -> str:
    found = os.stat(root / path)
    return f"{prefix}{path}\t{found.st_size}\t{found.st_mtime_ns}\t{source_hash((root / path).read_bytes()).hex()}"


def build_where_stale(root: Path) -> None:
    """In a checkout: build it, unless it is as its sources are."""
    if load()[0] is None:
        build_kernel(root, directory(), "../")


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    if not (root / "pyproject.toml").exists():
        compiled_build._say("record kernel: it is built from a checkout, or with a wheel")
        return 1
    if sys.argv[1:2] == ["--sanitized"]:
        link(root, Path(sys.argv[2]).resolve() / f"{MODULE}.so", SANITIZED_FLAGS)
        return 0
    build_kernel(root, directory(), "../")
    return 0


if __name__ == "__main__":
    sys.exit(main())
