"""Build the record kernel: one call of the C compiler over `protocol/kernel/`, two seconds; no mypyc, and nothing of the core's.

What fails leaves a manifest that says why (`headrace/compiled_kernel.py`), and the Python walkers run.
"""

from __future__ import annotations

import sysconfig
import tempfile
from pathlib import Path
from typing import Final

from headrace.compiled_core import PURE, directory, is_pure_asked
from headrace.compiled_kernel import FORMAT, MANIFEST, load
from tools.native.compiler import BuildFailed, c_compiler, file_line, flags_of_environment, hash_of, replace, run, say

FOLDER: Final = "protocol/kernel"
FLAGS: Final = ("-O2", "-g0", "-w", "-DNDEBUG")
SANITIZED_FLAGS: Final = (
    "-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
)  # fmt: skip


def sources(root: Path) -> list[str]:
    """What the kernel is made of, headers too: paths from the root."""
    return sorted(str(path.relative_to(root)) for path in root.glob(f"{FOLDER}/*.[ch]"))


def build(root: Path, target: Path, prefix: str) -> str:
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
            library = f"kernel-{hash_of(root, paths)}.so"
            fresh = target / f".{library}.new"
            known = [file_line(root, path, prefix) for path in paths]  # before: an edit meanwhile is seen
            link(root, fresh, FLAGS)
            fresh.replace(target / library)
            lines = known
            say("record kernel: done")
        except BuildFailed as failed:
            failure = f"not built: {failed}"
            say(f"record kernel: NOT built, Python walks records: {failed}")
    head = f"failed {failure}" if failure else f"built {library}"
    replace(target / MANIFEST, "\n".join([FORMAT, head, *lines]) + "\n")
    for old in target.glob("kernel-*.so"):
        if old.name != library:
            old.unlink()
    return failure


def link(root: Path, library: Path, flags: tuple[str, ...]) -> None:
    """The sources as one shared library. raises BuildFailed"""
    compiler = c_compiler()
    made = [str(root / path) for path in sources(root) if path.endswith(".c")]
    command = [
        *compiler, *flags, "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-fwrapv", f"-I{sysconfig.get_path('include')}",
        *flags_of_environment(), "-shared", "-o", str(library), *made,
    ]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="headrace-native-") as work:
        run(command, Path(work))


def build_where_stale(root: Path) -> None:
    """In a checkout: build it, unless it is as its sources are."""
    if load()[0] is None:
        build(root, directory(), "../")
