"""The sources of what names every message: the table by which modules are found, and the two files that type checkers read.

protocol/message_table.py         name -> module, versions, first flexible version; the one of the three that runs
protocol/messages/index.py        every message, imported: what `messages.FetchRequest` is
protocol/decoders/signatures.py   the type of a message by its key or name: `decode_request(ApiKey.FETCH, ...)`
"""

from __future__ import annotations

from tools.codec.field_tables import MessageSchema
from tools.codec.message_source import module_of


def table_source(messages: list[MessageSchema], header: str) -> str:
    """name -> (module, lowest version, highest, first flexible one or None)."""
    rows = []
    for message in messages:
        flexible = message.flexible.low if message.flexible.low <= message.versions.high else None
        if message.flexible.low > message.flexible.high:
            flexible = None
        row = (module_of(message.name), message.versions.low, message.versions.high, flexible)
        rows.append(f"    {message.name!r}: {row!r},")
    return "\n".join(
        [
            f'"""{header}"""',
            "from typing import Final",
            "# message -> module of its classes, decoders and encoders, lowest version, highest, first flexible one",
            "MESSAGES: Final[dict[str, tuple[str, int, int, int | None]]] = {",
            *rows,
            "}",
            "",
        ]
    )


def index_source(messages: list[MessageSchema], header: str) -> str:
    """An import of every message, as type checkers need it."""
    rows = [
        f"from headrace.protocol.messages.{module_of(message.name)} import {message.name} as {message.name}"
        for message in sorted(messages, key=lambda message: module_of(message.name))
    ]
    return "\n".join([f'"""{header}"""', *rows, ""])


def signatures_source(messages: list[MessageSchema], keys: dict[str, str], header: str) -> str:
    """The types of the decoders.

    keys   name of an API's key -> its name: FETCH -> Fetch
    """
    names = [message.name for message in messages]
    return "\n".join(
        [
            f'"""{header}"""',
            "from typing import Any, Literal, Protocol, overload",
            "from headrace.protocol import messages",
            "from headrace.protocol.apis import ApiKey",
            "Buffer = memoryview | bytes | bytearray",
            _by_key("DecodeRequest", "memoryview", "Request", keys),
            _by_key("DecodeResponse", "Buffer", "Response", keys),
            _by_name(names),
            "",
        ]
    )


def _by_key(name: str, body: str, suffix: str, keys: dict[str, str]) -> str:
    """One overload for each API, and one for a key that is known at run time only."""
    lines = [f"class {name}(Protocol):"]
    for key, api in keys.items():
        signature = f"self, api_key: Literal[ApiKey.{key}], version: int, body: {body}"
        lines += ["    @overload", f"    def __call__({signature}) -> messages.{api}{suffix}: ..."]
    signature = f"self, api_key: int, version: int, body: {body}"
    return "\n".join([*lines, "    @overload", f"    def __call__({signature}) -> Any: ..."])


def _by_name(names: list[str]) -> str:
    lines = ["class DecodeStruct(Protocol):"]
    for name in names:
        signature = f"self, name: Literal[{name!r}], version: int, body: Buffer"
        lines += ["    @overload", f"    def __call__({signature}) -> messages.{name}: ..."]
    signature = "self, name: str, version: int, body: Buffer"
    return "\n".join([*lines, "    @overload", f"    def __call__({signature}) -> Any: ..."])
