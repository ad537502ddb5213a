"""Draw texts that an operator or a user reads: `python -m tools.draw_texts --count 50 --seed N`.

Prints place, kind and text of each. A reviewer reads them and judges whether a native engineer would have written them so.
The kinds are:

    log       the message of a call such as `_log.warning(...)`
    error     the texts of a `raise`
    help      `help=`, `epilog=` and the docstrings of commands
    setting   the descriptions of settings
    text      every other sentence in the code: output of commands, reasons

`--kind log` draws from one kind, `--all` prints every text in order of place. Tests and generated files are left out.
A field of an f-string is printed as its expression.
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = (
    "tests/",
    "tools/",
    "protocol/messages/",
    "protocol/decoders/",
    "protocol/encoders/",
    "headrace/compiled_memory",
)
KINDS = ("log", "error", "help", "setting", "text")
LEVELS = ("debug", "info", "warning", "error", "exception", "critical")
HELP_KEYWORDS = ("help", "epilog", "short_help", "description")
WORDS_MIN = 2
SENTENCE_WORDS_MIN = 4  # of a text of no other kind: shorter ones are mostly parts and names


class Text(NamedTuple):
    """One text of the sources."""

    place: str
    kind: str
    text: str


def texts(paths: Iterable[str]) -> list[Text]:
    """Every text of these sources, in order of place."""
    found = []
    for path in paths:
        tree = ast.parse((ROOT / path).read_text(), path)
        for line, kind, text in sorted(_texts_of(tree, path)):
            found.append(Text(f"{path}:{line}", kind, text))
    return found


def sources() -> list[str]:
    """Paths of the sources that are shipped or run, from the root."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for path in listed.splitlines() if not path.startswith(LEFT_OUT)]


def _texts_of(tree: ast.Module, path: str) -> Iterator[tuple[int, str, str]]:
    kinds: dict[ast.AST, str] = {}
    for node in ast.walk(tree):
        for child, kind in _named(node, path):
            for inner in ast.walk(child):
                kinds.setdefault(inner, kind)
    docstrings = {id(node) for node in _docstrings(tree)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)} - {
        id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
    }
    for node in ast.walk(tree):
        if id(node) in parts or (id(node) in docstrings and node not in kinds):
            continue
        text, kind = _text(node), kinds.get(node, "text")
        words = [word for word in (text or "").split() if any(letter.isalpha() for letter in word)]
        if text is not None and len(words) >= (SENTENCE_WORDS_MIN if kind == "text" else WORDS_MIN):
            yield node.lineno, kind, text  # type: ignore[attr-defined]


def _named(node: ast.AST, path: str) -> Iterator[tuple[ast.AST, str]]:
    """Nodes below this one whose texts have a kind of their own."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS and "log" in ast.unparse(node.func.value):
            yield from ((argument, "log") for argument in node.args)
        yield from ((keyword.value, "help") for keyword in node.keywords if keyword.arg in HELP_KEYWORDS)
        if path == "headrace/settings.py":
            yield node, "setting"
    elif isinstance(node, ast.Raise) and node.exc is not None:
        yield node.exc, "error"
    elif isinstance(node, ast.FunctionDef) and any("command" in ast.unparse(one) for one in node.decorator_list):
        yield from ((docstring, "help") for docstring in _docstrings(ast.Module([node], [])))


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            yield first.value


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(part) for part in node.values)
    return None


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.FormattedValue)
    return f"{{{ast.unparse(node.value)}}}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Print texts of the sources, drawn at random.")
    parser.add_argument("--count", type=int, default=50, help="how many texts to draw (default: 50)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same texts (default: 0)")
    parser.add_argument("--kind", choices=KINDS, action="append", help="draw from this kind only; may be repeated")
    parser.add_argument("--all", action="store_true", help="print every text in order of place")
    parser.add_argument("paths", nargs="*", help="sources to draw from (default: all)")
    asked = parser.parse_args()
    found = [one for one in texts(asked.paths or sources()) if one.kind in (asked.kind or KINDS)]
    if not asked.all:
        found = random.Random(asked.seed).sample(found, min(asked.count, len(found)))
    for one in found:
        print(f"{one.place}  {one.kind}\n    " + one.text.strip().replace("\n", "\n    "))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
