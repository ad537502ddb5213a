"""Bootstrap servers as text."""

import pytest

from headrace.client.addresses import parse_address, parse_addresses


def test_a_list_of_addresses_in_text_or_not():
    assert parse_addresses("a:1, b:2,") == [("a", 1), ("b", 2)]
    assert parse_addresses(["a:1", "[::1]:2"]) == [("a", 1), ("::1", 2)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("", "expected host:port"), (" , ", "expected host:port"), ("a", "'a' is not HOST:PORT"), ("a:0", "ports are 1 to 65535"),
     ("a:99999", "ports are 1 to 65535"), ("::1:9092", "is not HOST:PORT"), ("a:x", "is not HOST:PORT")],
)  # fmt: skip
def test_what_is_no_address_is_named(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_addresses(text)


def test_one_address():
    assert parse_address(" host-1.example:9092 ") == ("host-1.example", 9092)
