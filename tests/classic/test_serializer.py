"""P8: encoders and decoders, by Kafka's names and by our own."""

import pytest

from headrace.classic.serializer import (
    DefaultDecoder,
    DefaultEncoder,
    NullEncoder,
    StringDecoder,
    StringEncoder,
    encoder_of,
)
from headrace.errors import ConfigError


def test_the_default_encoder_changes_nothing():
    assert DefaultEncoder().to_message(b"\0\xff") == b"\0\xff"
    assert DefaultEncoder().to_message(memoryview(b"ab")) == b"ab"
    assert DefaultEncoder().to_message(None) is None
    assert DefaultDecoder().to_event(b"x") == b"x"
    with pytest.raises(TypeError, match=r"takes bytes, not str: set serializer\.class"):
        DefaultEncoder().to_message("text")


def test_text_is_utf_8_or_what_is_asked_for():
    assert StringEncoder().to_message("ä") == "ä".encode()
    assert StringEncoder("latin-1").to_message("ä") == b"\xe4"
    assert StringEncoder().to_message(None) is None
    assert StringDecoder().to_event("ä".encode()) == "ä"
    assert StringDecoder().to_event(None) is None
    with pytest.raises(TypeError, match="takes str, not bytes"):
        StringEncoder().to_message(b"x")


def test_an_encoder_is_found_by_its_name_of_kafka():
    assert isinstance(encoder_of("serializer.class", "kafka.serializer.StringEncoder"), StringEncoder)
    assert encoder_of("serializer.class", "kafka.serializer.NullEncoder").to_message("x") is None
    assert isinstance(encoder_of("serializer.class", "headrace.classic.serializer.NullEncoder"), NullEncoder)


class NeedsMore:
    def __init__(self, more):
        self.more = more


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("kafka.serializer.Missing", "no such class"),
        (NeedsMore, "can't be created without arguments"),
        (7, "7 for serializer.class: has no method to_message"),
    ],
)
def test_what_is_no_encoder_is_refused(value, complaint):
    with pytest.raises(ConfigError, match=complaint):
        encoder_of("serializer.class", value)
