"""The source of one generated function: its lines, and the field that each line is about.

What reading and writing have in common, and what both ask of the schema; `decoder_source.py` and
`encoder_source.py` add the lines. Fixed-size values are gathered in `pending` and leave as one `struct` call,
as late as the flow of control allows.

A comment before the first line about a field names it: `# topics.partitions`. `function_file.py` makes of these comments
the table by which an error names its field.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tools.codec.field_tables import NO_VERSIONS, PRIMITIVES, Field, MessageSchema, StructType
from tools.codec.message_source import default_of

INDENT: Final = "    "
NO_PLACE: Final = "the message"  # of lines about no field; a function begins with such

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

# names of functions' own, which a field's variable does not take
_OWN: Final = frozenset(
    [
        *("buf", "pos", "end", "budget", "n", "stop", "one", "msg", "parts", "out", "put", "text"),
        *("new", "pack", "unpack_from", "join", "utf_8_decode"),
    ]
)
_RESERVED: Final = _OWN | set(keyword.kwlist) | set(dir(builtins))


@dataclass(slots=True)
class ModuleNames:
    """What the functions of one file need at its top.

    struct_calls   `pack_ii` -> `Struct(">ii").pack`
    defaults       `CURRENT_LEADER` -> (struct, field) of which it is the default
    classes        structs that decoders make
    """

    struct_calls: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, tuple[str, str]] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)

    def default(self, struct: StructType, one: Field) -> str:
        """The constant that holds the default of a field."""
        name = one.name.upper()
        while self.defaults.setdefault(name, (struct.name, one.name)) != (struct.name, one.name):
            name += "_"
        return name


class FunctionSource:
    """Lines of a function for one message and version."""

    def __init__(self, message: MessageSchema, version: int, names: ModuleNames) -> None:
        if version not in message.versions:
            raise KeyError(f"{message.name} has no version {version}")
        self.message = message
        self.version = version
        self.is_flexible = version in message.flexible
        self.names = names
        self.pending: list[tuple[str, str]] = []  # struct letter, variable or expression
        self.lines: list[str] = []
        self._pending_place = NO_PLACE
        self._last_place = NO_PLACE
        self._path: list[str] = []
        self._depth = 1
        self._variables: set[str] = set()

    def put(self, line: str) -> None:
        self._put(line, self._place())

    def pend(self, letter: str, expression: str) -> None:
        """One more fixed-size value for the next `struct` call."""
        if not self.pending:
            self._pending_place = self._place()
        self.pending.append((letter, expression))

    def put_pending(self, line: str) -> None:
        """A line about everything between the first pending field and this one."""
        place = self._place()
        if place != self._pending_place:
            first = "" if self._pending_place == NO_PLACE else self._pending_place
            place = f"{first} to {'the end' if place == NO_PLACE else place}"
        self._put(line, place)

    def _place(self) -> str:
        return ".".join(self._path) or NO_PLACE

    def _put(self, line: str, place: str) -> None:
        if place != self._last_place:
            self.lines.append(f"{INDENT * self._depth}# {place}")
            self._last_place = place
        self.lines.append(INDENT * self._depth + line)

    def opened(self, variables: dict[str, str]) -> list[str]:
        """The lines, and before them the variables that they use: name, with its type where it needs one -> first value."""
        used = set(re.findall(r"\w+", "\n".join(line.partition("# ")[0] for line in self.lines)))
        first = [f"{INDENT}{name} = {value}" for name, value in variables.items() if name.partition(":")[0] in used]
        return first + self.lines

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

    def variable(self, name: str) -> str:
        """A variable that the function does not have yet: the field's name, numbered where structs share it."""
        if name in _RESERVED:
            name += "_"
        found, number = name, 1
        while found in self._variables:
            number += 1
            found = f"{name}_{number}"
        self._variables.add(found)
        return found

    def struct_call(self, method: str) -> str:
        """The name of `Struct.pack` or `unpack_from` for what is pending."""
        letters = "".join(letter for letter, _expression in self.pending)
        name = f"{method.removesuffix('_from')}_{letters.replace('?', 'B0')}"
        self.names.struct_calls[name] = f'Struct(">{letters}").{method}'
        return name

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

    def class_of(self, struct: StructType) -> str:
        self.names.classes.add(struct.name)
        return struct.name

    def default(self, field: Field) -> Any:
        """The value of a field that is not there, or the name of the struct whose defaults it is."""
        return default_of(field)


def element_of(field: Field) -> Field:
    """The element of an array as a field of its own: never null, never tagged."""
    return replace(field, is_array=False, nullable=NO_VERSIONS, tag=None)


def is_fixed(field: Field) -> bool:
    """Whether each value (not an array of them) takes the same number of bytes."""
    return field.type_name in FIXED_TYPES and not field.is_array


def is_sized(field: Field) -> bool:
    """Whether it is a string, bytes or records (or an array of them)."""
    return field.type_name in PRIMITIVES and field.type_name not in FIXED_TYPES
