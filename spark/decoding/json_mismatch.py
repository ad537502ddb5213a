"""Why pyarrow.json would refuse a record, found by Python's json: for records that did not parse together.

Runs in: Spark's Python workers. pyarrow says which record it refused for grammar or kind, not for a number out of range, and a call costs
100 microseconds; 4 microseconds here tell most of the bad ones. Only what pyarrow certainly refuses is named, so that whether a record
is bad never depends on its neighbours: for the rest pyarrow itself is asked (`decoder.isolate`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from pyspark.sql.types import ArrayType, DataType, StructType

# a value -> why it does not fit, '' if it may
Check = Callable[[Any], str]

_INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a string"),
    "date": ((str,), "a date"),
    "boolean": ((bool,), "a boolean"),
    "float": ((int, float), "a number"),
    "double": ((int, float), "a number"),
}
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}")
_NANOSECONDS = re.compile(r"\.\d{7}")
_NON_FINITE = re.compile(rb"[NI]")  # NaN, Inf: pyarrow's grammar has more of them than Python's


def mismatch(text: bytes, check: Check) -> str:
    """Why a record is certainly refused, '' if it may be taken."""
    try:
        return check(json.loads(text.decode()))
    except UnicodeDecodeError as failure:
        return f"not valid UTF-8 at byte {failure.start}: {failure.reason}"
    except json.JSONDecodeError as failure:
        return "" if _NON_FINITE.search(text) else f"not valid JSON at character {failure.pos}: {failure.msg}"
    except (RecursionError, ValueError):  # nested too deeply, or too many digits, for Python
        return ""


def check_of(kind: DataType, path: str = "") -> Check:
    """What checks values of a type; `path` names the field in the reasons."""
    name = kind.typeName()
    if isinstance(kind, StructType):
        return _struct(kind, path)
    if isinstance(kind, ArrayType):
        element = check_of(kind.elementType, f"{path}[]")
        return lambda value: (
            "" if value is None
            else next(filter(None, map(element, value)), "") if type(value) is list
            else _reason(path, value, "an array")
        )  # fmt: skip
    if name in _INTEGERS:
        high = 1 << (_INTEGERS[name] - 1)
        return lambda value: (
            "" if value is None or (type(value) is int and -high <= value < high) else _reason(path, value, kind.simpleString())
        )  # fmt: skip
    if name.startswith("timestamp"):
        return lambda value: (
            "" if value is None or (type(value) is str and _TIMESTAMP.match(value) and not _NANOSECONDS.search(value))
            else _reason(path, value, "a timestamp")
        )  # fmt: skip
    if name in _KINDS:
        types, called = _KINDS[name]
        return lambda value: "" if value is None or type(value) in types else _reason(path, value, called)
    return lambda value: "" if type(value) not in (bool, dict, list) else _reason(path, value, kind.simpleString())


def _struct(kind: StructType, path: str) -> Check:
    checks = [(field.name, check_of(field.dataType, f"{path}.{field.name}".lstrip("."))) for field in kind.fields]

    def check(value: Any) -> str:
        if value is None:
            return ""
        if type(value) is not dict:
            return _reason(path, value, "an object")
        for name, one in checks:
            reason = one(value.get(name))
            if reason:
                return reason
        return ""

    return check


def _reason(path: str, value: Any, expected: str) -> str:
    return f"{path} is {json.dumps(value)[:80]}, expected {expected}"
