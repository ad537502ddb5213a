"""Encoders and decoders: between the values of a program and the bytes of a message.

`DefaultEncoder` passes bytes on as they are. `StringEncoder` has `serializer.encoding`, UTF-8 by default.

Source: Kafka `kafka.serializer.Encoder`, `Decoder`, `DefaultEncoder`, `StringEncoder`.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from headrace.classic.plugins import instance_of

T = TypeVar("T")
Given = TypeVar("Given", contravariant=True)
Made = TypeVar("Made", covariant=True)


class Encoder(Protocol[Given]):
    """Makes the payload of a message."""

    def to_message(self, data: Given) -> bytes | None:
        """The payload; None is a message without one. May raise anything: the send fails with it."""


class Decoder(Protocol[Made]):
    """Makes a value of a payload."""

    def to_event(self, payload: bytes | None) -> Made:
        """The value. May raise anything: the iterator raises it, and continues after the message."""


class DefaultEncoder:
    """Bytes as they are."""

    def to_message(self, data: bytes | None) -> bytes | None:
        """raises   TypeError, for what is not bytes"""
        if data is None or isinstance(data, bytes):
            return data
        if isinstance(data, bytearray | memoryview):
            return bytes(data)
        raise TypeError(f"DefaultEncoder takes bytes, not {type(data).__name__}: set serializer.class")


class StringEncoder:
    """Text as bytes of an encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self._encoding = encoding

    def to_message(self, data: str | None) -> bytes | None:
        """raises   TypeError, for what is not a text; UnicodeEncodeError"""
        if data is None:
            return None
        if not isinstance(data, str):
            raise TypeError(f"StringEncoder takes str, not {type(data).__name__}")
        return data.encode(self._encoding)


class DefaultDecoder:
    """Bytes as they are."""

    def to_event(self, payload: bytes | None) -> bytes | None:
        return payload


class StringDecoder:
    """Text of bytes; raises UnicodeDecodeError."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self._encoding = encoding

    def to_event(self, payload: bytes | None) -> str | None:
        return None if payload is None else payload.decode(self._encoding)


class NullEncoder(Generic[T]):
    """No payload, whatever the value."""

    def to_message(self, _data: T) -> None:
        return None


ENCODERS = {
    "kafka.serializer.DefaultEncoder": DefaultEncoder,
    "kafka.serializer.StringEncoder": StringEncoder,
    "kafka.serializer.NullEncoder": NullEncoder,
}


def encoder_of(key: str, value: Any) -> Encoder[Any]:
    """The encoder that a setting names; raises ConfigError."""
    found: Encoder[Any] = instance_of(key, value, ("to_message",), ENCODERS)
    return found
