"""Keys of control records, as Kafka writes them, and too short ones."""

import pytest

from headrace.protocol.control_record import ABORT, COMMIT, control_type


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (b"\0\0\0\0", ABORT),
        (b"\0\0\0\1", COMMIT),
        (b"\0\1\0\1 of a later version", COMMIT),
        (b"\0\0\0\5", 5),
        (b"\0\0\0", None),
        (b"", None),
        (None, None),
    ],
)
def test_the_type_is_read_where_the_key_is_long_enough(key, kind):
    assert control_type(key) == kind
