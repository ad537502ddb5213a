"""Where the node's sources take files away, or parts of them: each call, by source and function."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("log", "workers", "controller", "node", "runtime")
# Of a file or a directory; of a log, whole or from an offset on; of a file's bytes
CALLS = frozenset(
    (
        "unlink",
        "rmtree",
        "rmdir",
        "removedirs",
        "rename",
        "renames",
        "ftruncate",
        "truncate",
        "truncate_to",
        "restart_at",
        "remove_file",
        "remove_durably",
        "remove_tree",
        "put_aside",
    )
)
OF_MODULES = {"os": frozenset(("remove", "replace")), "shutil": frozenset(("move",))}


def removals():
    """{path of a source: {function}} that call one of these."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            functions = _functions(ast.parse(path.read_text()), "")
            if functions:
                found[str(path.relative_to(ROOT))] = functions
    return found


def _functions(tree, function):
    found = set()
    for node in ast.iter_child_nodes(tree):
        name = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        if isinstance(node, ast.Call) and _takes_away(node.func):
            found.add(name)
        found |= _functions(node, name)
    return found


def _takes_away(called):
    if not isinstance(called, ast.Attribute):
        return False
    module = called.value.id if isinstance(called.value, ast.Name) else None
    return called.attr.lstrip("_") in CALLS or called.attr in OF_MODULES.get(module, ())
