"""Drawings and tables in docstrings are whole: a line wrapper that knows nothing of columns cuts them."""

import ast
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

from tests.support.tree import CODE, ROOT, parsed

# what a table says beside parameters
NOT_PARAMETERS = {"raises", "returns", "yields", "source", "note"}
# a line as long as this may have been cut
FULL = 88

_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
_ROW = re.compile(r"\*{0,2}(\w+(?:, ?\*{0,2}\w+)*) +(?=\S)")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def paragraphs(text: str) -> list[list[str]]:
    return [part.split("\n") for part in re.split(r"\n\s*\n", text) if part.strip()]


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def column_of(lines: list[str]) -> int | None:
    """Where the second cell of most rows begins; None where no two rows agree."""
    starts = Counter(match.end() for line in lines if (match := _GAP.search(line)))
    if not starts or max(starts.values()) < 2:
        return None
    return min(start for start, count in starts.items() if count == max(starts.values()))


def cut_lines(lines: list[str]) -> list[str]:
    """Lines of a drawing that stand left of its column though they belong to the full line before."""
    column = column_of(lines)
    if column is None and any("->" in line for line in lines) and indent(lines[0]):
        column = indent(lines[0]) + 1  # steps that go on in the next line, which is further in
    if column is None:
        return []
    cut = []
    for before, line in pairwise(lines):
        is_row = line[column - 1 : column] == " " and (line[column : column + 1].strip() or _GAP.search(line))
        if len(before) >= FULL and indent(line) < column and not is_row:
            cut.append(line.strip())
    return cut


def parameters(node: ast.FunctionDef) -> set[str]:
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return {argument.arg for argument in every if argument is not None}


def names_in(node: ast.ClassDef) -> set[str]:
    """Whatever a class's table may speak of: its fields, attributes, parameters."""
    found = set()
    for part in ast.walk(node):
        found |= {getattr(part, key) for key in ("id", "arg", "attr", "name") if isinstance(getattr(part, key, 0), str)}
    return found


def wrong_rows(text: str, known: set[str]) -> list[str]:
    """Lines of a docstring's tables that are no row of a known name, nor in the column of one."""
    wrong = []
    for lines in paragraphs(text):
        first = _ROW.match(lines[0])
        if first is None or not (first[0].endswith("  ") or column_of(lines)):
            continue
        column = min(first.end(), column_of(lines) or first.end())
        for line in lines:
            if indent(line) >= column:
                continue
            row = _ROW.match(line)
            is_row = row is not None and (row.end() == column or row[0].endswith("  "))
            if not is_row or not set(re.findall(r"\w+", row[1])) <= known | NOT_PARAMETERS:
                wrong.append(line)
    return wrong


def tables(tree: ast.Module):
    """(name, docstring, the names that its tables may have) of every function and class."""
    for node in ast.walk(tree):
        text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.ClassDef) else None
        if text:
            yield node.name, text, parameters(node) if isinstance(node, ast.FunctionDef) else names_in(node)


def test_no_line_of_a_drawing_is_left_of_its_column():
    cut = [
        f"{relative(path)}: {line}"
        for path in CODE
        for lines in paragraphs(ast.get_docstring(parsed(path)) or "")
        for line in cut_lines(lines)
    ]
    assert not cut


def test_a_table_of_parameters_names_parameters():
    wrong = {
        f"{relative(path)}: {name}": rows
        for path in CODE
        for name, text, known in tables(parsed(path))
        if (rows := wrong_rows(text, known))
    }
    assert not wrong


DRAWING = """
    PRODUCE       request_id 8 | slot 4 | key 4 | index 4 | timeout_ms 4 | acks 2 | api_version 2 | begun 4 |
    batch ...
    PRODUCE_PART  request_id 8 | index 4 | pad 4
                  whatever goes on
"""
STEPS = """
    waitpid has returned  ->  new rings created, old ones unlinked  ->  generation raised, epoch moved
    ->  doorbells forced  ->  fork
"""
TABLE = '''
def scan(topics, columns=None, *, where=None):
    """Records of topics.

    topics       a name, names with commas
    columns      of key, value, topic, partition, offset, timestamp, timestampType (these where None),
    headers,     key_length
    where        filter applied in the worker: a function from a
    RecordBatch to a boolean array
    raises       ValueError
    """
'''


def test_a_drawing_that_was_cut_is_found():
    (lines,) = paragraphs(DRAWING.strip("\n"))
    assert cut_lines(lines) == ["batch ..."]
    lines[1] = " " * 18 + "batch ..."
    assert not cut_lines(lines)


def test_steps_that_were_cut_are_found():
    (lines,) = paragraphs(STEPS.strip("\n"))
    assert cut_lines(lines) == ["->  doorbells forced  ->  fork"]
    lines[1] = "  " + lines[1]
    assert not cut_lines(lines)


def test_a_table_that_was_cut_is_found():
    ((_name, text, known),) = tables(ast.parse(TABLE))
    assert wrong_rows(text, known) == ["headers,     key_length", "RecordBatch to a boolean array"]
