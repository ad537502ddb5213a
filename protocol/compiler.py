"""Schema to straight-line Python: one function for a message, a version and a direction.

Structs are inlined, neighbouring fixed-size fields, lengths and empty tag sections become one `struct` call,
nothing is looked up by field while a message is read or written. Made on first use (about a millisecond),
kept for ever by `codec.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.protocol.decoder_source import DecoderSource
from headrace.protocol.encoder_source import EncoderSource
from headrace.protocol.field_tables import load_message


def compile_decoder(name: str, version: int) -> Callable[[memoryview], Any]:
    """A function from a body to the message.

    raises   KeyError, where the schema has no such message or version
    """
    return DecoderSource(load_message(name), version).function()


def compile_encoder(name: str, version: int) -> Callable[[Any], list[Any]]:
    """A function from the message to its parts; raises as `compile_decoder`."""
    return EncoderSource(load_message(name), version).function()
