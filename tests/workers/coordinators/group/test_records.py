"""Records of `__consumer_offsets` against the schema's own codec, in every version."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import BadFrame
from headrace.ids import coordinator_partition
from headrace.protocol import messages
from headrace.protocol.codec import decode_struct, encode_struct
from headrace.workers.coordinators.group import records as group_records

TEXT = st.text(max_size=40)
LONG = st.integers(-(2**63), 2**63 - 1)
INT = st.integers(-(2**31), 2**31 - 1)


@settings(deadline=None)
@given(TEXT, TEXT, INT)
def test_an_offsets_key_is_the_schemas(group, topic, partition):
    key = group_records.offset_key_prefix(group) + group_records.suffix_of(topic, partition)
    assert decode_struct("OffsetCommitKey", 1, key[2:]) == messages.OffsetCommitKey(group, topic, partition)
    assert key[:2] == b"\0\1"
    assert group_records.read_suffix(group_records.suffix_of(topic, partition)) == (topic, partition)


@settings(deadline=None)
@given(LONG, INT, TEXT, LONG)
def test_an_offsets_value_is_the_schemas(offset, epoch, metadata, commit_ms):
    value = group_records.encode_offset(offset, epoch, metadata.encode(), commit_ms)
    found = decode_struct("OffsetCommitValue", 3, value[2:])
    assert (found.offset, found.leader_epoch, found.metadata, found.commit_timestamp) == (
        offset,
        epoch,
        metadata,
        commit_ms,
    )
    assert group_records.decode_offset(value) == (offset, epoch, metadata, commit_ms, -1)
    assert group_records.offset_of(value) == offset
    assert group_records.commit_ms_of(value) == (commit_ms, -1)


@settings(deadline=None)
@given(LONG, TEXT, LONG, st.integers(0, 2**63 - 1))
def test_an_offset_with_an_expiry_is_a_value_of_v1(offset, metadata, commit_ms, expire_ms):
    value = group_records.encode_offset(offset, 7, metadata.encode(), commit_ms, expire_ms)
    assert value[:2] == b"\0\1"
    found = decode_struct("OffsetCommitValue", 1, value[2:])
    assert (found.offset, found.metadata, found.expire_timestamp) == (offset, metadata, expire_ms)
    assert group_records.commit_ms_of(value) == (commit_ms, expire_ms)


@pytest.mark.parametrize("version", range(5))
def test_values_of_every_version_are_read(version):
    message = messages.OffsetCommitValue(offset=5, leader_epoch=3, metadata="m", commit_timestamp=9)
    value = version.to_bytes(2, "big") + encode_struct("OffsetCommitValue", version, message)
    assert group_records.decode_offset(value) == (5, 3 if version >= 3 else -1, "m", 9, -1)
    assert group_records.offset_of(value) == 5


@pytest.mark.parametrize("version", range(5))
def test_groups_of_every_version_are_read(version):
    member = messages.GroupMetadataValue.MemberMetadata(
        member_id="m", client_id="c", client_host="/h", session_timeout=9, subscription=b"s", assignment=b"a"
    )
    message = messages.GroupMetadataValue(
        protocol_type="consumer", generation=3, protocol="range", leader="m", members=[member]
    )
    value = version.to_bytes(2, "big") + encode_struct("GroupMetadataValue", version, message)
    assert group_records.decode_group(value) == message


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\3", b"\0\3" + b"x" * 9, b"\0\5" + b"x" * 40, b"\xff\xff"])
def test_values_that_cannot_be_read_say_so(value):
    with pytest.raises(BadFrame):
        group_records.decode_offset(value)
    with pytest.raises(BadFrame):
        group_records.decode_group(value)


@pytest.mark.parametrize(
    ("group", "code"),
    # String.hashCode() of a Java virtual machine
    [("", 0), ("a", 97), ("hello", 99162322), ("\U0001f600", 55357 * 31 + 56832), ("polygenelubricants", -(2**31))],
)
def test_a_group_lies_where_java_puts_it(group, code):
    expected = 0 if code == -(2**31) else abs(code)
    assert coordinator_partition(group, 50) == expected % 50
    assert coordinator_partition(group, 7) == expected % 7
