"""The record kernel, where it was built: C functions that walk records, and why there are none.

Runs in: every process that reads records; what it offers is in `protocol/record_kernel.py`, its sources are in `protocol/kernel/`.
`tools/native/kernel.py` makes of them

    headrace/_compiled/TAG/kernel.txt        FORMAT | built NAME or failed REASON | the sources, as in the compiled core's manifest
    headrace/_compiled/TAG/kernel-HASH.so    one extension module, MODULE

It is used as long as its own sources are what was compiled, whatever became of the core's: it calls nothing of ours, and
the Python walkers that it stands for find the same. HEADRACE_PURE=1 is pure Python here too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from headrace.compiled_core import PACKAGE, PURE, directory, is_pure_asked, open_extension, why_stale

FORMAT: Final = "headrace record kernel 1"
MANIFEST: Final = "kernel.txt"
MODULE: Final = "headrace_record_kernel"
NOT_BUILT: Final = "it was not built here"


def load(package: Path = PACKAGE) -> tuple[Any, str]:
    """(the module, None where there is none; why there is none)."""
    if is_pure_asked():
        return None, f"{PURE} is set"
    place = directory(package)
    try:
        head, state, *lines = (place / MANIFEST).read_text().splitlines()
        word, _, rest = state.partition(" ")
        files = [line.split("\t") for line in lines]
        known = [(f"{package}/{path}", int(size), int(time_ns), digest) for path, size, time_ns, digest in files]
    except (OSError, ValueError):  # ValueError: it is cut, or of another make
        return None, NOT_BUILT
    if head != FORMAT or word not in ("built", "failed"):
        return None, NOT_BUILT
    reason = rest if word == "failed" else why_stale(known)
    if reason:
        return None, reason
    try:
        return open_extension(MODULE, str(place / rest)), ""
    except (ImportError, AttributeError) as failure:
        return None, f"it does not load: {failure}"


KERNEL, _reason = load()


def describe() -> str:
    """The form that walks records: `record kernel`, or `no record kernel: REASON`."""
    return f"no record kernel: {_reason}" if KERNEL is None else "record kernel"
