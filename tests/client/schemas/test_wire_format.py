"""The header of one record in Confluent's wire format."""

import pytest

from headrace.client.schemas.failures import BadRecord
from headrace.client.schemas.wire_format import header_of, message_indexes, path_bytes, schema_id_of


@pytest.mark.parametrize(
    ("data", "indexes", "position"),
    [(b"\0", (0,), 1), (b"\2\0", (0,), 2), (b"\4\2\6", (1, 3), 3), (b"\2\x80\1", (64,), 3)],
)
def test_paths_to_messages(data, indexes, position):
    assert message_indexes(b"\0\0\0\0\1" + data) == (indexes, 5 + position)


@pytest.mark.parametrize("data", [b"", b"\2", b"\x80", b"\1", b"\x7e" + bytes(63), b"\xff" * 9])
def test_paths_that_are_none(data):
    with pytest.raises(BadRecord, match="not the Confluent wire format"):
        message_indexes(b"\0\0\0\0\1" + data)


@pytest.mark.parametrize(
    ("indexes", "data"),
    [((0,), b"\0"), ((1,), b"\2\2"), ((0, 0), b"\4\0\0"), ((1, 3), b"\4\2\6"), ((64,), b"\2\x80\1")],
)
def test_paths_are_written_as_they_are_read(indexes, data):
    assert path_bytes(indexes) == data
    assert message_indexes(header_of(1) + data) == (indexes, 5 + len(data))


def test_ids_are_written_as_they_are_read():
    for schema_id in (0, 1, 258, 2**32 - 1):
        assert schema_id_of(header_of(schema_id)) == schema_id
    with pytest.raises(BadRecord, match="3 bytes, but the header alone has 5"):
        schema_id_of(b"abc")
    with pytest.raises(BadRecord, match="begins with 0x01"):
        schema_id_of(b"\1\0\0\0\0")
