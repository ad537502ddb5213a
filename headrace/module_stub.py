"""The stub of a module (`.pyi`), made from its source: what type checkers are to see in its place.

What a module defines with names of its own stays as it is: imports, constants, signatures, docstrings aside.
Bodies become `...`. The maker of a stub says, by name, which functions and methods it writes itself; they have
types that the source can't spell, such as one overload for each message of the schema.

Runs in: `make lint`, which checks the sources behind stubs in a run of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

_HEADER = "# Made by `make lint`: do not edit.\n"


class _Skeleton(ast.NodeTransformer):
    """Cuts bodies, docstrings and what is private to the module; leaves a hole's name where a text will stand."""

    def __init__(self, replaced: Mapping[str, str]) -> None:
        self._replaced = replaced
        self._path: list[str] = []
        self.used: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        name = ".".join([*self._path, node.name])
        if name in self._replaced:
            self.used.add(name)
            return ast.Expr(ast.Name(_hole(name)))
        if node.name.startswith("_") and not node.name.startswith("__"):
            return None
        node.body = [ast.Expr(ast.Constant(...))]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST | None:
        if node.name.startswith("_"):
            return None
        self._path.append(node.name)
        attributes = _attributes(node)
        node.body = [kept for part in node.body if (kept := self.visit(part)) is not None]
        node.body += attributes
        node.body = node.body or [ast.Expr(ast.Constant(...))]
        self._path.pop()
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if len(names) == 1 and names[0] in self._replaced:
            self.used.add(names[0])
            return ast.Expr(ast.Name(_hole(names[0])))
        return node if names and not names[0].startswith("_") else None

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        assert isinstance(node.target, ast.Name)
        if self._path:
            return ast.AnnAssign(node.target, node.annotation, node.value and ast.Constant(...), simple=1)
        if node.target.id.startswith("_"):
            return None
        return ast.AnnAssign(node.target, node.annotation, None, simple=1)

    def visit_Expr(self, _node: ast.Expr) -> None:
        """A docstring."""


def module_stub(source: str, replaced: Mapping[str, str], prologue: str = "") -> str:
    """The stub of a module.

    source     text of the module
    replaced   text in the place of a function, a method (`Class.method`) or a constant, at the left edge
    prologue   text between the imports and the rest
    raises     ValueError, where the module has nothing of a name in `replaced`
    """
    tree = ast.parse(source)
    skeleton = _Skeleton(replaced)
    kept = [part for node in tree.body if (part := skeleton.visit(node)) is not None]
    if missing := set(replaced) - skeleton.used:
        raise ValueError(f"the module has no {', '.join(sorted(missing))}")
    imports = [node for node in kept if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in kept if not isinstance(node, ast.Import | ast.ImportFrom)]
    text = _HEADER + _unparse(imports) + "\n" + prologue + "\n" + _unparse(others) + "\n"
    for name in replaced:
        text = _fill(text, _hole(name), replaced[name])
    return text


def _attributes(node: ast.ClassDef) -> list[ast.stmt]:
    """What `__init__` gives a public name and a type: declarations in the class's body."""
    found: list[ast.stmt] = []
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name != "__init__":
            continue
        for part in ast.walk(method):
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Attribute):
                found.append(ast.AnnAssign(ast.Name(part.target.attr), part.annotation, None, simple=1))
    return [part for part in found if not ast.unparse(part).startswith("_")]


def _hole(name: str) -> str:
    return f"__{name.replace('.', '__')}__"


def _unparse(nodes: Sequence[ast.stmt]) -> str:
    return "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in nodes)


def _fill(text: str, hole: str, by: str) -> str:
    """The same text with a line that is a hole replaced, at that line's indentation."""
    lines = []
    for line in text.split("\n"):
        if line.strip() == hole:
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + other if other else "" for other in by.rstrip("\n").split("\n")]
        else:
            lines.append(line)
    return "\n".join(lines)
