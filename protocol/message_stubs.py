"""The stubs of `messages.py` and `codec.py`: every field of every message with its type.

    protocol/schema --+-- messages_stub()   messages.pyi   a named tuple for each message and struct
                      +-- codec_stub()      codec.pyi      decode_request(ApiKey.FETCH, ...) -> messages.FetchRequest

`messages.Request[T]` is any request that a T answers, so that a function which sends one and returns its response
has types for both. It exists in annotations alone.

A field that is null in some version, or by default, is `X | None`. An array is a `Sequence`: a list when it was
decoded, `()` where the version lacks it, any sequence when it is encoded. `records` decode to a memoryview and
are encoded from anything with a `len`, so that a struct with records has two signatures.

Runs in: `make lint` (`tests/support/write_stubs.py`).
"""

from __future__ import annotations

from headrace.module_stub import module_stub
from headrace.protocol.apis import ApiKey
from headrace.protocol.field_tables import PRIMITIVES, Field, MessageSchema, StructType, load_message, message_names

_TYPES = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "memoryview",
}
_INDENT = "    "
_MESSAGES_HEAD = """from collections.abc import Sequence, Sized
from typing import NamedTuple, Protocol, Self, TypeVar
_T_co = TypeVar("_T_co", covariant=True)
class Request(Protocol[_T_co]):
    def _answer_(self) -> _T_co: ...
"""


def messages_stub(source: str) -> str:
    """The text of `messages.pyi`, from that of `messages.py`."""
    classes = "\n".join(_message_class(load_message(name)) for name in message_names())
    prologue = _MESSAGES_HEAD + classes
    return module_stub(source, {"__getattr__": ""}, prologue)


def codec_stub(source: str) -> str:
    """The text of `codec.pyi`, from that of `codec.py`: what comes out of decoding has a type by its key or name.

    What is encoded has its type from where it was made; a message that is not the key's fails whenever it is encoded.
    """
    replaced = {
        "decode_request": _by_key("decode_request", "body: memoryview", "Request"),
        "decode_response": _by_key("decode_response", "body: Buffer", "Response"),
        "decode_struct": _by_name(),
    }
    return module_stub(
        source,
        replaced,
        "from typing import Literal, overload\nfrom headrace.protocol import messages\n",
    )


def field_type(field: Field, root: str) -> str:
    """The annotation of a field as it is read.

    root   the message that its structs are attributes of
    """
    name = _TYPES.get(field.type_name, "int") if field.type_name in PRIMITIVES else f"{root}.{field.type_name}"
    if field.is_array:
        name = f"Sequence[{name}]"
    is_nullable = field.nullable.low <= field.nullable.high or field.default in ("null", "None")
    return f"{name} | None" if is_nullable or field.type_name == "records" else name


def _message_class(message: MessageSchema) -> str:
    """A message without structs is one class; another's structs are in a base class of it."""
    answer = _answer_of(message.name)
    if not message.structs:
        return "\n".join([_struct_class(message.root, message.name, message.name), *answer])
    lines = [
        _struct_class(message.root, message.name, f"_{message.name}"),
        f"class {message.name}(_{message.name}):",
        *answer,
    ]
    lines += [_indented(_struct_class(struct, message.name, struct.name)) for struct in _innermost_first(message)]
    return "\n".join(lines)


def _answer_of(name: str) -> list[str]:
    """What makes a request a `Request[...]`: a method that only type checkers know."""
    response = f"{name.removesuffix('Request')}Response"
    if not name.endswith("Request") or response not in message_names():
        return []
    return [f"{_INDENT}def _answer_(self) -> {response}: ..."]


def _innermost_first(message: MessageSchema) -> list[StructType]:
    """Structs after those that their fields hold: mypy finds no class of an outer class that comes later."""
    ordered: dict[str, StructType] = {}

    def take(struct: StructType) -> None:
        for field in struct.fields:
            if field.type_name in message.structs and field.type_name not in ordered:
                take(message.structs[field.type_name])
        ordered.setdefault(struct.name, struct)

    for struct in message.structs.values():
        take(struct)
    return list(ordered.values())


def _struct_class(struct: StructType, root: str, name: str) -> str:
    fields = [f"{field.name}: {field_type(field, root)} = ...{_excuse(field)}" for field in struct.fields]
    if not any(field.type_name == "records" for field in struct.fields):
        return _class(f"{name}(NamedTuple)", fields)
    written = ", ".join(f"{field.name}: {_written_type(field, root)} = ..." for field in struct.fields)
    makers = [f"def __new__(cls, {written}) -> Self: ...", f"def _replace(self, *, {written}) -> Self: ..."]
    return _class(f"_{name}(NamedTuple)", fields) + "\n" + _class(f"{name}(_{name})", makers)


def _written_type(field: Field, root: str) -> str:
    return "Sized | None" if field.type_name == "records" else field_type(field, root)


def _excuse(field: Field) -> str:
    """Kafka has fields that are called like methods of tuples."""
    return "  # type: ignore[assignment]" if hasattr(tuple, field.name) else ""


def _class(head: str, body: list[str]) -> str:
    return "\n".join([f"class {head}:", *(f"{_INDENT}{line}" for line in body or ["..."])])


def _indented(text: str) -> str:
    return "\n".join(_INDENT + line for line in text.split("\n"))


def _by_key(function: str, last: str, suffix: str) -> str:
    """One overload for each API, and one for a key that is known at run time only."""
    lines = [
        f"@overload\ndef {function}(api_key: Literal[ApiKey.{key.name}], version: int, {last})"
        f" -> messages.{key.api_name}{suffix}: ..."
        for key in ApiKey
    ]
    return "\n".join([*lines, f"@overload\ndef {function}(api_key: int, version: int, {last}) -> Any: ..."])


def _by_name() -> str:
    lines = [
        f"@overload\ndef decode_struct(name: Literal[{name!r}], version: int, body: Buffer) -> messages.{name}: ..."
        for name in message_names()
    ]
    return "\n".join([*lines, "@overload\ndef decode_struct(name: str, version: int, body: Buffer) -> Any: ..."])
