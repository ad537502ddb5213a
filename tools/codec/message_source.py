"""The source of a message's classes: `protocol/messages/<message>.py`, a named tuple for the message and for each of its structs.

    field_type    int32 -> int, []Topic null 1+ -> Sequence[Topic] | None
    default_of    what a field holds where nothing was given or the version lacks it

A message with structs is a class over the named tuple of its fields, so that it has them as attributes
(`FetchRequest.FetchTopic`); type checkers take no class inside a NamedTuple. A request has a method that exists for type checkers
alone and returns its response: that makes it a `messages.Request[FetchResponse]`.

An array is a `Sequence`: a list when it was decoded, `()` where the version lacks it, any sequence when it is encoded. `records`
decode to a memoryview and are encoded from anything with a `len`, so a struct with records has two signatures.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tools.codec.field_tables import PRIMITIVES, VERSION_MAX, Field, MessageSchema, StructType, Versions

_TYPES: Final = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "memoryview",
}
_ZEROS: Final[dict[str, Any]] = {"bool": False, "float64": 0.0, "string": "", "bytes": b"", "records": None}
_INDENT: Final = "    "


class StructDefault(NamedTuple):
    """The default of a field that holds a struct: the struct's own defaults."""

    name: str


class ZeroUuid(NamedTuple):
    """The default of a uuid: ZERO_UUID, one object for all."""


def field_type(field: Field) -> str:
    """The annotation of a field as it is read."""
    name = _TYPES.get(field.type_name, "int") if field.type_name in PRIMITIVES else field.type_name
    if field.is_array:
        name = f"Sequence[{name}]"
    is_nullable = field.nullable.low <= field.nullable.high or field.default in ("null", "None")
    return f"{name} | None" if is_nullable or field.type_name == "records" else name


def default_of(field: Field) -> Any:
    """What a field holds where nothing was given or the version lacks it; a StructDefault or ZeroUuid stands for what has a name."""
    text = field.default
    if text in ("null", "None"):
        return None
    if field.is_array:
        return ()
    if field.type_name not in PRIMITIVES:
        return StructDefault(field.type_name)
    if field.type_name == "uuid":
        return ZeroUuid()
    if text is None:
        return _ZEROS.get(field.type_name, 0)
    if field.type_name == "bool":
        return text.lower() == "true"
    if field.type_name == "string":
        return text.strip('"')
    return float(text) if field.type_name == "float64" else int(text, 0)


def written_default(value: Any) -> str:
    """A default as Python source."""
    if isinstance(value, StructDefault):
        return f"{value.name}()"
    return "ZERO_UUID" if isinstance(value, ZeroUuid) else repr(value)


def message_source(message: MessageSchema, header: str, response: str | None) -> str:
    """The text of a message's file, not formatted.

    header     docstring of the file
    response   (of a request) what answers it
    """
    classes = [_struct_class(struct) for struct in innermost_first(message)]
    classes.append(_root_class(message, response))
    text = "\n".join(classes)
    lines = [f'"""{header}"""']
    abc = [name for name in ("Sequence", "Sized") if f"{name}[" in text or f" {name} " in text]
    typing = [name for name in ("TYPE_CHECKING", "NamedTuple", "Self", "TypeAlias") if name in text]
    lines += [f"from collections.abc import {', '.join(abc)}"] if abc else []
    lines.append(f"from typing import {', '.join(typing)}")
    if "ZERO_UUID" in text:
        lines.append("from headrace.protocol.messages import ZERO_UUID")
    if response is not None:
        lines += [
            "if TYPE_CHECKING:",
            f"{_INDENT}from headrace.protocol.messages.{module_of(response)} import {response}",
        ]
    return "\n".join([*lines, text, ""])


def module_of(name: str) -> str:
    """`fetch_request` for `FetchRequest`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).strip("_")


def innermost_first(message: MessageSchema) -> list[StructType]:
    """Structs after those that their fields hold."""
    ordered: dict[str, StructType] = {}

    def take(struct: StructType) -> None:
        for field in struct.fields:
            if field.type_name in message.structs and field.type_name not in ordered:
                take(message.structs[field.type_name])
        ordered.setdefault(struct.name, struct)

    for struct in message.structs.values():
        take(struct)
    return list(ordered.values())


def _root_class(message: MessageSchema, response: str | None) -> str:
    root = message.root
    body = [f"{struct.name}: TypeAlias = {struct.name}" for struct in innermost_first(message)]
    checked = _makers(root)
    if response is not None:
        checked += [f"def _answer_(self) -> {response}: ..."]
    return _struct_class(root, body, checked)


def _struct_class(struct: StructType, body: list[str] | None = None, checked: list[str] | None = None) -> str:
    """A named tuple, and a class over it where it needs more than its fields.

    body      lines of that class
    checked   lines of it that only type checkers see
    """
    body = body or []
    checked = _makers(struct) if checked is None else checked
    fields = [
        f"{field.name}: {field_type(field)} = {written_default(default_of(field))}{_note(field)}"
        for field in struct.fields
    ]
    if not body and not checked:
        return _class(f"{struct.name}(NamedTuple)", fields)
    lines = ["__slots__ = ()", *body]
    if checked:
        lines += ["if TYPE_CHECKING:", *(f"{_INDENT}{line}" for line in checked)]
    return _class(f"_{struct.name}(NamedTuple)", fields) + "\n" + _class(f"{struct.name}(_{struct.name})", lines)


def _makers(struct: StructType) -> list[str]:
    """The signatures by which a struct with records is written."""
    if not any(field.type_name == "records" for field in struct.fields):
        return []
    written = ", ".join(f"{field.name}: {_written_type(field)} = ..." for field in struct.fields)
    return [f"def __new__(cls, {written}) -> Self: ...", f"def _replace(self, *, {written}) -> Self: ..."]


def _written_type(field: Field) -> str:
    return "Sized | None" if field.type_name == "records" else field_type(field)


def _note(field: Field) -> str:
    """The versions of a field; and an excuse, where it is called like a method of tuples, as some of Kafka's are."""
    words = [_range(field.versions)]
    if field.nullable.low <= field.nullable.high:
        words.append(f"null {_range(field.nullable)}")
    if field.tag is not None:
        words.append(f"tag {field.tag} {_range(field.tag_versions)}")
    excuse = "type: ignore[assignment]  # " if hasattr(tuple, field.name) else ""
    return f"  # {excuse}{', '.join(words)}"


def _range(versions: Versions) -> str:
    if versions.low == versions.high:
        return f"v{versions.low}"
    return f"v{versions.low}+" if versions.high == VERSION_MAX else f"v{versions.low}-{versions.high}"


def _class(head: str, body: list[str]) -> str:
    return "\n".join([f"class {head}:", *(f"{_INDENT}{line}" for line in body or ["pass"])])
