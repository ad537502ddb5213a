"""The items of a dump as lines for people. Pure functions over `log/inspection/log_dump.py`'s dictionaries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from headrace.cli.printable import printable

Item = dict[str, Any]
_MS = 1000
_IS = "is_"  # begins the name of each flag of a batch


def text_of(item: Item) -> str:
    """One line; an item of a kind that has no line of its own is shown as its fields."""
    line = _LINES.get(item["type"])
    return printable(line(item) if line is not None else f"  {_fields(item)}")


def time_text(timestamp_ms: int) -> str:
    """UTC to the millisecond; the bare number, if it is outside of the calendar."""
    if timestamp_ms < 0:
        return str(timestamp_ms)
    try:
        at = datetime.fromtimestamp(timestamp_ms / _MS, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % _MS:03d}Z"


def _file(item: Item) -> str:
    return f"{item['path']}" if item["kind"] == "state" else f"{item['path']} ({item['kind'].replace('-', ' ')})"


def _batch(item: Item) -> str:
    first = item["base_offset"] if item["base_offset"] >= 0 else "?"
    count = "?" if item["count"] < 0 else item["count"]
    words = [
        f"  byte {item['position']:<10} offsets {first}..{item['last_offset']}  {count} records, {item['size']} bytes",
        f"v{item['magic']} {item['codec']}",
    ]
    if "max_timestamp_ms" in item:
        words.append(f"{item['timestamp_type']} {time_text(item['max_timestamp_ms'])}")
    if item.get("leader_epoch", -1) >= 0:
        words.append(f"epoch {item['leader_epoch']}")
    if item.get("producer_id", -1) >= 0:
        words.append(f"producer {item['producer_id']}:{item['producer_epoch']} sequence {item['base_sequence']}")
    words += [key.removeprefix(_IS) for key in item if key.startswith(_IS) and item[key] and key != "is_valid"]
    if item.get("delete_horizon_ms", -1) >= 0:
        words.append(f"delete horizon {time_text(item['delete_horizon_ms'])}")
    words.append(f"crc {item['crc']:08x} {'ok' if item['is_valid'] else 'WRONG'}")
    return "  ".join(words)


def _record(item: Item) -> str:
    words = [f"    offset {item['offset']:<10} {time_text(item['timestamp_ms'])}"]
    if "marker" in item:
        words.append(f"{item['marker']} coordinator epoch {item['coordinator_epoch']}")
    words.append(f"key {_size(item['key_size'])}, value {_size(item['value_size'])}")
    if "sequence" in item:
        words.append(f"sequence {item['sequence']}")
    if "key" in item:
        words.append(f"{_data(item['key'])} = {_data(item['value'])}")
        words += [f"[{name}: {_data(content)}]" for name, content in item["headers"]]
    elif item["header_keys"]:
        words.append(f"headers {', '.join(item['header_keys'])}")
    return "  ".join(words)


def _message_07(item: Item) -> str:
    return (
        f"  byte {item['position']:<10} offset {item['offset']}  {item['size']} bytes  magic {item['magic']} {item['codec']}"
        f"  crc {item['crc']:08x} {'ok' if item['is_valid'] else 'WRONG'}"
    )


def _payload_07(item: Item) -> str:
    value = f"  {_data(item['value'])}" if "value" in item else ""
    return f"    {item['inner']}  {item['value_size']} bytes{value}"


def _size(size: int) -> str:
    return "null" if size < 0 else f"{size} bytes"


def _data(data: Any) -> str:
    if data is None:
        return "null"
    if isinstance(data, dict):
        return f"base64:{data['base64']}"
    return ascii(data) if any(not character.isprintable() for character in data) else f"'{data}'"


def _timed(item: Item) -> str:
    return f"  offset {item['offset']:<12} {time_text(item['timestamp_ms'])} ({item['timestamp_ms']})"


def _finding(item: Item) -> str:
    place = f" byte {item['position']}" if item["position"] >= 0 else ""
    advice = f" -> {item['advice']}" if "advice" in item else ""
    return f"{item['type']}: {item['path']}{place}: {item['what']}{advice}"


def _end(item: Item) -> str:
    return f"  = {_fields(item, ', ')}"


def _fields(item: Item, separator: str = "  ") -> str:
    return separator.join(f"{key.replace('_', ' ')} {value}" for key, value in item.items() if key != "type")


_LINES = {
    "file": _file,
    "batch": _batch,
    "record": _record,
    "index-entry": lambda item: f"  offset {item['offset']:<12} byte {item['position']}",
    "time-index-entry": _timed,
    "message-07": _message_07,
    "payload-07": _payload_07,
    "fault": _finding,
    "note": _finding,
    "end": _end,
}
