"""Modules to C by mypyc, in a process of its own (it takes a gigabyte): `python -m tools.native.translate CODE [--plain] MODULE...`.

Runs in the tree of links that `core.py` makes. Calls of some functions become calls of our own C (`headrace/native`), by mypyc's
registry of functions that it has C for, the one that its own `len` is in. It is no documented interface, so it is tried: where this
mypyc has another one, a file says so, and the modules are compiled without.

    CODE/__native*.c, .h       what mypyc writes
    CODE/struct_functions.h    the C of each struct function
    CODE/plain.txt             why there are no calls of our C; it is there only then

Source: mypyc's documentation (`mypyc.build.mypycify`) and `mypyc/primitives/registry.py`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from tools.native.struct_functions import StructFunction, c_of, struct_functions

GROUP: Final = "headrace_core"  # mypyc: the library's module is GROUP__mypyc
PLAIN: Final = "plain.txt"

# In pip's environment none of our requirements is installed: what does not compile by it is not reported in other modules.
CONFIG: Final = """\
[mypy]
explicit_package_bases = true
namespace_packages = true
ignore_missing_imports = true
follow_imports = silent
"""

# Functions of the sources with C of their own: arguments, result, the C function. o: an object, i: an int, n: None, b: a bool;
# the error kind is mypyc's, `never` for what can't fail.
FUNCTIONS: Final = (
    ("headrace.memory.view", "oii", "o", "hr_view"),
    ("headrace.memory.copy_in", "oio", "n", "hr_copy_in"),
    ("headrace.memory.is_at", "oio", "b", "hr_is_at"),
    ("headrace.memory.load_word", "oi", "i", "hr_load_word"),
    ("headrace.memory.store_word", "oii", "n", "hr_store_word"),
    ("headrace.protocol.record_batch.crc_from", "oi", "i", "hr_crc32c_from"),
    ("headrace.clock.read_wall_ns", "", "i", "hr_wall_ns"),
    ("headrace.clock.read_monotonic_ns", "", "i", "hr_monotonic_ns"),
    ("headrace.shm.fence.fence", "", "n", "hr_fence"),
)


def main(code: Path, arguments: list[str]) -> None:
    is_plain = arguments[0] == "--plain"
    modules = arguments[1:] if is_plain else arguments
    paths = {name: str(Path(*name.split(".")).with_suffix(".py")) for name in modules}
    why_plain = ""
    if not is_plain:
        functions = [one for name, path in paths.items() for one in struct_functions(name, Path(path).read_text())]
        write_struct_functions(code, functions)
        why_plain = register(functions)
    config = code / "mypy.ini"
    config.write_text(CONFIG)
    from mypyc.build import mypycify

    mypycify(
        ["--config-file", str(config), "--cache-dir", os.devnull, *paths.values()],
        group_name=GROUP,
        target_dir=str(code),
        multi_file=True,
    )
    called = f"{FUNCTIONS[0][-1]}("
    if not is_plain and not why_plain and not any(called in path.read_text() for path in code.glob("__native*.c")):
        why_plain = f"this mypy ({mypy_version()}) does not call them"
    if why_plain:
        (code / PLAIN).write_text(why_plain)


def write_struct_functions(code: Path, functions: list[StructFunction]) -> None:
    guard = "HEADRACE_STRUCT_FUNCTIONS_H"
    lines = [f"#ifndef {guard}", f"#define {guard}", *map(c_of, functions), "#endif", ""]
    (code / "struct_functions.h").write_text("\n".join(lines))


def register(functions: list[StructFunction]) -> str:
    """Have mypyc call our C. Nothing that is in its registry changes. returns why it is not possible; empty where it is"""
    try:
        from mypyc.ir.ops import ERR_MAGIC, ERR_NEVER
        from mypyc.ir.rtypes import RTuple, RType, bool_rprimitive, int_rprimitive, none_rprimitive, object_rprimitive
        from mypyc.primitives.registry import function_op

        kinds = {"o": object_rprimitive, "i": int_rprimitive, "n": none_rprimitive, "b": bool_rprimitive}
        ops: list[tuple[str, list[RType], RType, str, int]] = [
            (name, [kinds[one] for one in given], kinds[result], c_name, ERR_MAGIC if given else ERR_NEVER)
            for name, given, result, c_name in FUNCTIONS
        ]
        for function in functions:
            numbers: list[RType] = [int_rprimitive] * len(function.fields)
            arguments = [object_rprimitive, int_rprimitive, *(numbers if function.is_pack else ())]
            result: RType = (
                none_rprimitive if function.is_pack else int_rprimitive if function.is_single else RTuple(numbers)
            )
            ops.append((function.name, arguments, result, function.c_name, ERR_MAGIC))
        for op in ops:  # all are of one shape: the first one is refused, or none is
            function_op(*op)
    except (ImportError, AttributeError, TypeError) as failure:
        return f"this mypy ({mypy_version()}) has another registry: {failure}"
    return ""


def mypy_version() -> str:
    from mypy.version import __version__

    return __version__


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
