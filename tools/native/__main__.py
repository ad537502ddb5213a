"""Build the native parts into a checkout: `python -m tools.native`, by `make core`; `setup.py` does it for a wheel.

    (nothing)                 the record kernel where it is stale, and the compiled core
    --once                    the same, but a core that is there stays, even if its sources were edited since
    kernel                    the record kernel alone: two seconds
    --sanitized DIRECTORY     a kernel that reports what C leaves undefined, for tests

No build of ours fails: where something is missing a manifest says what, and pure Python runs. HEADRACE_PURE=1 leaves both out.
"""

from __future__ import annotations

import sys
from pathlib import Path

from headrace.compiled_core import CompiledCore, directory
from headrace.compiled_kernel import MODULE
from tools.native import core, kernel
from tools.native.compiler import say

ROOT = Path(__file__).resolve().parent.parent.parent
PREFIX = "../"  # from headrace/ to the other folders


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--sanitized"]:
        kernel.link(ROOT, Path(arguments[1]).resolve() / f"{MODULE}.so", kernel.SANITIZED_FLAGS)
    elif arguments == ["kernel"]:
        kernel.build(ROOT, directory(), PREFIX)
    elif arguments in ([], ["--once"]):
        kernel.build_where_stale(ROOT)
        known = CompiledCore()
        if known.modules and (known.is_ready() or arguments):
            state = "as the sources are" if known.is_ready() else "older than the sources, make core renews it"
            say(f"compiled core: {state}")
        else:
            core.build(ROOT, directory(), PREFIX)
    else:
        say(__doc__ or "")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
