"""The messages as named tuples, made from the schema on first use.

`messages.FetchResponse` is the root, `messages.FetchResponse.PartitionData` one of its structs. One class
serves all versions: a field that a version lacks holds its default. Every field has one, so that a message is
written with what matters. Arrays decode to lists, `records` to a memoryview of the frame, uuid to 16 bytes.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from headrace.protocol.field_tables import PRIMITIVES, Field, MessageSchema, load_message

ZERO_UUID = bytes(16)

_ZEROS: dict[str, Any] = {
    "bool": False,
    "float64": 0.0,
    "uuid": ZERO_UUID,
    "string": "",
    "bytes": b"",
    "records": None,
}
_classes: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return class_of(name)
    except KeyError:
        raise AttributeError(f"no message {name} in the schema") from None


def class_of(name: str) -> Any:
    """The named tuple of a message; its structs are attributes of it.

    raises   KeyError, where the schema has no such message
    """
    known = _classes.get(name)
    if known is None:
        known = _classes[name] = _build(load_message(name))
    return known


def default_of(field: Field, structs: dict[str, Any]) -> Any:
    """What a field holds where nothing was given or the version lacks it."""
    text = field.default
    if text in ("null", "None"):
        return None
    if field.is_array:
        return ()
    if field.type_name not in PRIMITIVES:
        return structs[field.type_name]()
    if text is None:
        return _ZEROS.get(field.type_name, 0)
    if field.type_name == "bool":
        return text.lower() == "true"
    if field.type_name == "string":
        return text.strip('"')
    return float(text) if field.type_name == "float64" else int(text, 0)


def _build(message: MessageSchema) -> Any:
    classes: dict[str, Any] = {}

    def build_struct(name: str) -> Any:
        if name not in classes:
            fields = message.structs[name].fields
            for field in fields:
                if field.type_name not in PRIMITIVES:
                    build_struct(field.type_name)
            classes[name] = _tuple_class(name, fields, classes)
        return classes[name]

    for name in message.structs:
        build_struct(name)
    root = _tuple_class(message.name, message.root.fields, classes)
    for name, struct in classes.items():
        assert not hasattr(root, name), (message.name, name)
        setattr(root, name, struct)
    return root


def _tuple_class(name: str, fields: list[Field], classes: dict[str, Any]) -> Any:
    defaults = [default_of(field, classes) for field in fields]
    return namedtuple(name, [field.name for field in fields], defaults=defaults)
