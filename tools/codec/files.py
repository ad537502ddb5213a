"""The generated files of messages and codecs: path from the root of the tree -> text.

protocol/messages/<message>.py      classes
protocol/decoders/<message>.py      functions of every version
protocol/encoders/<message>.py
protocol/message_table.py, protocol/messages/index.py, protocol/decoders/signatures.py
"""

from __future__ import annotations

from tools.codec.field_tables import RECORDS, MessageSchema, file_names, load_file, message_names
from tools.codec.function_file import decoders_source, encoders_source
from tools.codec.index_source import index_source, signatures_source, table_source
from tools.codec.message_source import message_source, module_of

MADE = "Made by `make codec` from protocol/schema"
KEPT = ("__init__.py",)  # in the generated folders, but not generated
FUNCTIONS = ("protocol/decoders", "protocol/encoders")
FOLDERS = ("protocol/messages", *FUNCTIONS)


def files() -> dict[str, str]:
    """Every file, not formatted, and without its places."""
    found = {}
    every: list[MessageSchema] = []
    names = set(message_names())
    for file_name in file_names():
        for message in load_file(file_name).values():
            every.append(message)
            low, high = message.versions.low, message.versions.high
            versions = f"v{low}" if low == high else f"v{low} to v{high}"
            header = f"{message.name}, {versions}.\n\n{MADE}/{file_name}: do not edit.\n"
            response = f"{message.name.removesuffix('Request')}Response"
            is_answered = message.name.endswith("Request") and response in names
            path = f"{module_of(message.name)}.py"
            found[f"protocol/messages/{path}"] = message_source(message, header, response if is_answered else None)
            found[f"protocol/decoders/{path}"] = decoders_source(message, f"Decoders of {header}")
            found[f"protocol/encoders/{path}"] = encoders_source(message, f"Encoders of {header}")
    header = f"{{}}\n\n{MADE}: do not edit.\n"
    found["protocol/message_table.py"] = table_source(
        every, header.format("Every message: its module and its versions.")
    )
    found["protocol/messages/index.py"] = index_source(every, header.format("Every message, for type checkers alone."))
    found["protocol/decoders/signatures.py"] = signatures_source(
        every, api_keys(), header.format("What decoding returns, by key or name, for type checkers alone.")
    )
    return found


def api_keys() -> dict[str, str]:
    """Name of a key -> name of the API, in the order of the keys: INIT_PRODUCER_ID -> InitProducerId."""
    found = {}
    for file_name in file_names():
        if file_name != RECORDS:
            (request, *_rest) = load_file(file_name)
            found[file_name.partition("_")[2].removesuffix(".txt").upper()] = request.removesuffix("Request")
    return found
