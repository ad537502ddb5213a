"""One name, one thing: exceptions that an `except` could confuse, and the suffixes of files."""

import ast
import re
from collections import defaultdict
from functools import cache

from headrace.log import names
from tests.support.tree import CODE, ROOT

SUFFIXES = {value: name for name, value in vars(names).items() if name.endswith("_SUFFIX")}


@cache
def classes_of(path):
    return [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]


def test_no_two_exceptions_have_one_name():
    """An `except` of the wrong one catches nothing."""
    bases = {node.name: [ast.unparse(base) for base in node.bases] for path in CODE for node in classes_of(path)}

    def is_exception(name):
        return name.endswith(("Error", "Exception")) or any(is_exception(base) for base in bases.get(name, ()))

    places = defaultdict(list)
    for path in CODE:
        for node in classes_of(path):
            if is_exception(node.name) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(ROOT).as_posix())
    assert "CorruptRange" in places
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_the_suffix_of_a_file_is_spelt_in_one_place():
    assert {".log", ".deleted", "-delete", ".swap"} <= SUFFIXES.keys()
    wrong = defaultdict(list)
    for path in CODE:
        text = path.read_text()
        if path.name == "names.py" or not any(suffix in text for suffix in SUFFIXES):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in SUFFIXES:
                wrong[path.relative_to(ROOT).as_posix()].append(node.value)
    assert not wrong


def test_no_constant_of_a_format_is_written_again():
    """What a module of the protocol calls by a name is imported from there, not made again."""
    nothing = "NO_(?:EPOCH|GENERATION|LEADER|MEMBER_ID|PRODUCER_ID|SEQUENCE|TIMESTAMP_MS)"
    constant = re.compile(rf"^({nothing}|MAGIC_V\d|[A-Z_]+_(?:BIT|MASK|SUFFIX))(?:: Final\S*)? =", re.MULTILINE)
    defined = defaultdict(set)
    for path in CODE:
        for name in constant.findall(path.read_text()):
            defined[name].add(path.relative_to(ROOT).as_posix())
    assert "TRANSACTIONAL_BIT" in defined
    assert not {name: sorted(places) for name, places in defined.items() if len(places) > 1}
