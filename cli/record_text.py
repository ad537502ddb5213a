"""A record as bytes for standard output: by a format, or as one JSON object a line.

    %t topic   %p partition   %o offset   %T timestamp, ms   %k key   %s value   %h headers, a=b,c=d
    %K, %S     bytes of key and value, -1 for null
    %%  \\n  \\t  \\r  \\0  \\\\  \\xHH

In JSON, bytes that are not UTF-8 become {"base64": "..."}.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.cli.arguments import bad

if TYPE_CHECKING:
    from headrace.client.records import RawRecord as Record

DEFAULT_FORMAT = "%s\\n"
_TOKEN = re.compile(r"%(.)|%\Z|\\x([0-9a-fA-F]{2})|\\(.)|\\\Z", re.DOTALL)
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}

Render = Callable[[str, int, "Record"], bytes]  # topic, partition, record
_Field = Callable[[str, int, "Record"], bytes]


def compile_format(option: str, text: str, null: bytes = b"") -> Render:
    """A function for a format; raises typer.BadParameter, which names the invalid token.

    null   stands for a key or value that is null
    """
    fields: dict[str, _Field] = {
        "t": lambda topic, _partition, _record: topic.encode(),
        "p": lambda _topic, partition, _record: b"%d" % partition,
        "o": lambda _topic, _partition, record: b"%d" % record.offset,
        "T": lambda _topic, _partition, record: b"%d" % record.timestamp_ms,
        "k": lambda _topic, _partition, record: null if record.key is None else record.key,
        "s": lambda _topic, _partition, record: null if record.value is None else record.value,
        "K": lambda _topic, _partition, record: b"%d" % (-1 if record.key is None else len(record.key)),
        "S": lambda _topic, _partition, record: b"%d" % (-1 if record.value is None else len(record.value)),
        "h": lambda _topic, _partition, record: b",".join(
            name.encode() + b"=" + (null if content is None else content) for name, content in record.headers
        ),
    }
    parts: list[bytes | _Field] = []
    position = 0
    for token in _TOKEN.finditer(text):
        parts.append(text[position : token.start()].encode())
        position = token.end()
        letter, byte, escaped = token.groups()
        if letter == "%":
            parts.append(b"%")
        elif letter in fields:
            parts.append(fields[letter])
        elif byte:
            parts.append(bytes.fromhex(byte))
        elif escaped in _ESCAPES:
            parts.append(_ESCAPES[escaped])
        else:
            known = ", ".join(f"%{name}" for name in fields)
            raise bad(option, token[0], f"is not a format token: expected {known}, %%, \\n, \\t, \\r, \\0, \\\\, \\xHH")
    parts.append(text[position:].encode())
    return _joined([part for part in parts if part != b""])


def render_json(topic: str, partition: int, record: Record) -> bytes:
    """One line."""
    fields = {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": _json_value(record.key),
        "value": _json_value(record.value),
        "headers": [[name, _json_value(content)] for name, content in record.headers],
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _joined(parts: list[bytes | _Field]) -> Render:
    def render(topic: str, partition: int, record: Record) -> bytes:
        return b"".join([part if isinstance(part, bytes) else part(topic, partition, record) for part in parts])

    return render


def _json_value(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
