"""The field tables in `protocol/schema` as a tree.

One file an API (`NN_name.txt`), and `records_and_headers.txt` for headers and the records of internal topics.
The grammar, by indentation:

    api KEY Name
    request|response|Name versions RANGE flexible RANGE|none
      field TYPE RANGE [key] [null RANGE] [tag N RANGE] [= default] [flexible none]
        field ...                      fields of the struct that TYPE names, where this is its first use
      struct Name RANGE                a struct that several fields name

    RANGE   3   0-4   7+

Source: the message definitions of Kafka 3.9, as field tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

SCHEMA: Final = Path(__file__).parents[2] / "protocol" / "schema"
RECORDS: Final = "records_and_headers.txt"
VERSION_MAX: Final = 32767
INDENT: Final = 2

PRIMITIVES: Final = frozenset(
    [
        "bool",
        "int8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "float64",
        "uuid",
        "string",
        "bytes",
        "records",
    ]
)


@dataclass(frozen=True, slots=True)
class Versions:
    """A closed range of versions; empty where low > high."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high


NO_VERSIONS: Final = Versions(1, 0)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct. `type_name` is without the `[]` of an array."""

    name: str
    type_name: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    tag_versions: Versions
    default: str | None
    is_never_flexible: bool

    def is_tagged(self, version: int) -> bool:
        return self.tag is not None and version in self.tag_versions


@dataclass(slots=True)
class StructType:
    """A named list of fields."""

    name: str
    fields: list[Field] = field(default_factory=list)


@dataclass(slots=True)
class MessageSchema:
    """A request, response, header or record: its versions, its fields, and the structs they name."""

    name: str
    versions: Versions
    flexible: Versions
    root: StructType
    structs: dict[str, StructType] = field(default_factory=dict)


def parse_versions(text: str) -> Versions:
    """`3`, `0-4`, `7+` or `none`."""
    if text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return Versions(int(text[:-1]), VERSION_MAX)
    low, _, high = text.partition("-")
    return Versions(int(low), int(high or low))


def parse_field(text: str) -> Field:
    """One field line."""
    words = text.split()
    name, type_name, versions = words[:3]
    nullable, tag, tag_versions, default, is_never_flexible = NO_VERSIONS, None, NO_VERSIONS, None, False
    position = 3
    while position < len(words):
        word = words[position]
        if word == "key":
            position += 1
        elif word == "null":
            nullable = parse_versions(words[position + 1])
            position += 2
        elif word == "tag":
            tag, tag_versions = int(words[position + 1]), parse_versions(words[position + 2])
            position += 3
        elif word == "=":
            default = words[position + 1]
            position += 2
        elif word == "flexible":
            is_never_flexible = words[position + 1] == "none"
            position += 2
        else:
            raise ValueError(f"unknown word {word!r} in field line {text!r}")
    return Field(
        name,
        type_name.removeprefix("[]"),
        type_name.startswith("[]"),
        parse_versions(versions),
        nullable,
        tag,
        tag_versions,
        default,
        is_never_flexible,
    )


def parse_schema(text: str) -> dict[str, MessageSchema]:
    """All messages of one file, by name: `FetchRequest`, `FetchResponse`, `OffsetCommitValue`, ..."""
    messages: dict[str, MessageSchema] = {}
    api_name = ""
    stack: list[tuple[int, StructType]] = []  # (indentation of its fields, struct)
    message: MessageSchema | None = None
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        depth = (len(line) - len(line.lstrip())) // INDENT
        words = stripped.split()
        if depth == 0:
            if words[0] == "api":
                api_name = words[2]
                continue
            name = api_name + words[0].capitalize() if words[0] in ("request", "response") else words[0]
            root = StructType(name)
            message = MessageSchema(name, parse_versions(words[2]), parse_versions(words[4]), root)
            messages[name] = message
            stack = [(1, root)]
            continue
        assert message is not None, line
        while stack[-1][0] > depth:
            stack.pop()
        if words[0] == "struct":
            struct = message.structs.setdefault(words[1], StructType(words[1]))
            stack.append((depth + 1, struct))
            continue
        found = parse_field(stripped)
        stack[-1][1].fields.append(found)
        if found.type_name not in PRIMITIVES:
            struct = message.structs.setdefault(found.type_name, StructType(found.type_name))
            stack.append((depth + 1, struct))
    return messages


@cache
def file_names() -> list[str]:
    """The files of the schema, in the order of the API keys."""
    apis = sorted(entry.name for entry in SCHEMA.glob("*.txt") if entry.name[0].isdigit())
    return [*apis, RECORDS]


@cache
def load_file(file_name: str) -> dict[str, MessageSchema]:
    """The messages of a file, by name."""
    return parse_schema((SCHEMA / file_name).read_text())


def load_message(name: str) -> MessageSchema:
    """A message by its name.

    raises   KeyError, where no file has it
    """
    return _all_messages()[name]


def message_names() -> list[str]:
    """Every message of every file."""
    return list(_all_messages())


@cache
def _all_messages() -> dict[str, MessageSchema]:
    return {name: message for file_name in file_names() for name, message in load_file(file_name).items()}
