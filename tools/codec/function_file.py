"""The source of a message's decoders or encoders: `protocol/decoders/<message>.py`, `protocol/encoders/<message>.py`.

    imports and constants
    decode_v0, decode_v3, ...     a function for each layout: versions with an equal one share it
    DECODERS                      version -> function
    PLACES                        lines of the file -> field, for errors

PLACES is made of the comments in the formatted text (`with_places`): a network worker that refuses a request reads no file.
A process reads one kind of messages and writes the other, so that it imports half of the functions.
"""

from __future__ import annotations

import re
from typing import Final

from tools.codec.decoder_source import DecoderSource
from tools.codec.encoder_source import EncoderSource
from tools.codec.field_tables import MessageSchema
from tools.codec.function_source import NO_PLACE, ModuleNames
from tools.codec.message_source import module_of

# what functions may use -> the module that has it
_IMPORTED: Final = {
    "utf_8_decode": "codecs",
    "Struct": "struct",
    "pack": "struct",
    "unpack_from": "struct",
    "Any": "typing",
    "Final": "typing",
    "DECODED_BYTES_MAX": "headrace.limits",
    "DECODED_REQUEST_BYTES_MAX": "headrace.limits",
    "STRING_BYTES_MAX": "headrace.limits",
    "Malformed": "headrace.protocol.codec_primitives",
    "SMALL_RECORDS_BYTES": "headrace.protocol.codec_primitives",
    "encode_string_length": "headrace.protocol.codec_primitives",
    "open_tags": "headrace.protocol.codec_primitives",
    "skip_tags": "headrace.protocol.codec_primitives",
    "ZERO_UUID": "headrace.protocol.messages",
    "UVARINTS": "headrace.protocol.varint",
    "encode_uvarint": "headrace.protocol.varint",
    "read_uvarint": "headrace.protocol.varint",
}
_PLACE: Final = re.compile(r" +# (.*)")
_DEFINITION: Final = re.compile(r"def (?:de|en)code_")


def decoders_source(message: MessageSchema, header: str) -> str:
    """The text of a message's decoders, not formatted, without PLACES."""
    names = ModuleNames()
    functions = _functions(message, DecoderSource, names, "decode", f"buf: memoryview) -> {message.name}")
    return _source(message, names, functions, "DECODERS", f"Callable[[memoryview], {message.name}]", header)


def encoders_source(message: MessageSchema, header: str) -> str:
    """The text of a message's encoders, as `decoders_source`."""
    names = ModuleNames()
    functions = _functions(message, EncoderSource, names, "encode", "msg: Any) -> list[Any]")
    return _source(message, names, functions, "ENCODERS", "Callable[[Any], list[Any]]", header)


def _source(
    message: MessageSchema,
    names: ModuleNames,
    made: tuple[list[str], dict[int, str]],
    table: str,
    kind: str,
    header: str,
) -> str:
    functions = "\n".join(made[0])
    constants = [
        f"{name} = {struct}._field_defaults[{field!r}]" for name, (struct, field) in sorted(names.defaults.items())
    ]
    constants += [f"{name} = {call}" for name, call in sorted(names.struct_calls.items())]
    if "new(" in functions:
        constants.append("new = tuple.__new__  # a third of the time of a NamedTuple's own constructor")
    if "join(" in functions:
        constants.append('join = b"".join')
    rows = ", ".join(f"{version}: {function}" for version, function in made[1].items())
    tables = [f"{table}: Final[dict[int, {kind}]] = {{{rows}}}", 'PLACES: Final = ""']
    body = "\n".join([*constants, functions, *tables])
    classes = names.classes | {struct for struct, _field in names.defaults.values()}
    return "\n".join([f'"""{header}"""', *_imports(body, message, classes), body, ""])


def with_places(text: str) -> str:
    """The formatted text with PLACES filled.

    Each line has the numbers of the lines from which on a function is about one field, and the field.
    """
    places: dict[str, list[int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if _DEFINITION.match(line):
            places.setdefault(NO_PLACE, []).append(number)
        elif found := _PLACE.fullmatch(line):
            places.setdefault(found[1], []).append(number)
    rows = [f"{' '.join(map(str, numbers))} {place}" for place, numbers in places.items()]
    rows_text = "\n".join(rows)
    return text.replace('PLACES: Final = ""', f'PLACES: Final = """\\\n{rows_text}\n"""')


def _functions(
    message: MessageSchema,
    kind: type[DecoderSource] | type[EncoderSource],
    names: ModuleNames,
    prefix: str,
    signature: str,
) -> tuple[list[str], dict[int, str]]:
    """(texts of the functions, version -> name)."""
    texts: dict[str, str] = {}  # body -> name
    by_version = {}
    for version in range(message.versions.low, message.versions.high + 1):
        body = "\n".join(kind(message, version, names).function())
        by_version[version] = texts.setdefault(body, f"{prefix}_v{version}")
    return [f"def {name}({signature}:\n{body}" for body, name in texts.items()], by_version


def _imports(body: str, message: MessageSchema, classes: set[str]) -> list[str]:
    words = set(re.findall(r"(?<![\w.])\w+", body))
    by_module: dict[str, list[str]] = {"collections.abc": ["Callable"]}
    for name, module in _IMPORTED.items():
        if name in words:
            by_module.setdefault(module, []).append(name)
    if classes:
        by_module[f"headrace.protocol.messages.{module_of(message.name)}"] = sorted(classes)
    ordered = sorted(by_module, key=lambda module: (module.startswith("headrace"), module))
    return [f"from {module} import {', '.join(by_module[module])}" for module in ordered]
