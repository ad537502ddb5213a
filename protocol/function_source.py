"""The source of one generated function: its lines, its constants, and the field that each line is about.

What reading and writing have in common, and what both ask of the schema; `decoder_source.py` and
`encoder_source.py` add the lines. Fixed-size values are gathered in `pending` and leave as one `struct` call,
as late as the flow of control allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from struct import Struct
from typing import Any, Final

from headrace.protocol import messages
from headrace.protocol.field_tables import NO_VERSIONS, PRIMITIVES, Field, MessageSchema, StructType

INDENT: Final = "    "
FIRST_LINE: Final = 2  # of the body: the first is `def`

# type -> struct letter, bytes
FIXED_TYPES: Final = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}

_places: Final[dict[str, list[str]]] = {}  # file name of a generated function -> the field of each line


class FunctionSource:
    """Lines of a function for one message and version."""

    def __init__(self, message: MessageSchema, version: int) -> None:
        if version not in message.versions:
            raise KeyError(f"{message.name} has no version {version}")
        self.message = message
        self.version = version
        self.is_flexible = version in message.flexible
        self.constants: dict[str, Any] = {}
        self.pending: list[tuple[str, str]] = []  # struct letter, variable or expression
        self._pending_place = ""
        self._path: list[str] = []
        self._lines: list[str] = []
        self._lines_places: list[str] = []
        self._depth = 1
        self._serial = 0

    def put(self, line: str) -> None:
        self._lines.append(INDENT * self._depth + line)
        self._lines_places.append(".".join(self._path))

    def pend(self, letter: str, expression: str) -> None:
        """One more fixed-size value for the next `struct` call."""
        if not self.pending:
            self._pending_place = ".".join(self._path)
        self.pending.append((letter, expression))

    def put_pending(self, line: str) -> None:
        """A line about everything between the first pending field and this one."""
        place = ".".join(self._path)
        if place != self._pending_place:
            place = f"{self._pending_place} to {place or 'the end'}"
        self._lines.append(INDENT * self._depth + line)
        self._lines_places.append(place)

    @contextmanager
    def block(self, line: str) -> Iterator[None]:
        """Lines put inside are indented under it."""
        self.put(line)
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """What is put inside is about this field."""
        self._path.append(name)
        yield
        self._path.pop()

    def name(self, prefix: str) -> str:
        self._serial += 1
        return f"{prefix}{self._serial}"

    def constant(self, prefix: str, value: Any) -> str:
        for known, other in self.constants.items():
            if other is value:
                return known
        name = self.name(prefix)
        self.constants[name] = value
        return name

    def struct_call(self, method: str) -> str:
        """The name of `Struct.pack` or `unpack_from` for what is pending."""
        letters = "".join(letter for letter, _expression in self.pending)
        name = f"{method}_{letters.replace('?', 'B0')}"
        if name not in self.constants:
            self.constants[name] = getattr(Struct(">" + letters), method)
        return name

    def build(self, header: str) -> Callable[..., Any]:
        assert not self.pending
        file_name = f"<{header.removesuffix(':')} of {self.message.name} v{self.version}>"
        namespace = dict(self.constants)
        exec(compile("\n".join([header, *self._lines]), file_name, "exec"), namespace)
        _places[file_name] = self._lines_places
        function: Callable[..., Any] = namespace["run"]
        return function

    def is_compact(self, field: Field) -> bool:
        return self.is_flexible and not field.is_never_flexible

    def is_nullable(self, field: Field) -> bool:
        return self.version in field.nullable or field.type_name == "records"

    def present(self, struct: StructType) -> tuple[list[Field], list[Field]]:
        """Plain and tagged fields of a struct in this version."""
        here = [field for field in struct.fields if self.version in field.versions]
        tagged = [field for field in here if field.is_tagged(self.version)]
        return [field for field in here if not field.is_tagged(self.version)], tagged

    def struct_of(self, field: Field) -> StructType:
        return self.message.structs[field.type_name]

    def class_of(self, struct: StructType) -> Any:
        root = messages.class_of(self.message.name)
        return root if struct is self.message.root else getattr(root, struct.name)


def element_of(field: Field) -> Field:
    """The element of an array as a field of its own: never null, never tagged."""
    return replace(field, is_array=False, nullable=NO_VERSIONS, tag=None)


def is_fixed(field: Field) -> bool:
    """Whether each value (not an array of them) takes the same number of bytes."""
    return field.type_name in FIXED_TYPES and not field.is_array


def is_sized(field: Field) -> bool:
    """Whether it is a string, bytes or records (or an array of them)."""
    return field.type_name in PRIMITIVES and field.type_name not in FIXED_TYPES


def place_of(failure: BaseException) -> str:
    """The field that a generated function was at when it failed, `topics.partitions`; empty where none was."""
    place = ""
    step = failure.__traceback__
    while step is not None:
        places = _places.get(step.tb_frame.f_code.co_filename)
        if places is not None:
            place = places[step.tb_lineno - FIRST_LINE]
        step = step.tb_next
    return place
