"""Tagged fields, nulls and lengths at their turning points, byte by byte."""

import pytest

from headrace.protocol import codec, messages
from headrace.protocol.apis import ApiKey
from tools.codec.field_tables import PRIMITIVES, load_message, message_names
from tools.codec.message_source import default_of

FetchResponse = messages.FetchResponse
ApiVersionsResponse = messages.ApiVersionsResponse


def fetched(**values):
    topic = FetchResponse.FetchableTopicResponse("t", partitions=[FetchResponse.PartitionData(**values)])
    return codec.encode_response(ApiKey.FETCH, 12, FetchResponse(responses=[topic]))


def test_a_tagged_field_at_its_default_is_not_written():
    default = FetchResponse.LeaderIdAndEpoch(-1, -1)
    assert fetched(current_leader=default) == fetched()


def test_tagged_fields_are_written_in_the_order_of_their_tags():
    data = fetched(
        snapshot_id=FetchResponse.SnapshotId(5, 6),
        diverging_epoch=FetchResponse.EpochEndOffset(1, 2),
        current_leader=FetchResponse.LeaderIdAndEpoch(3, 4),
    )
    first = b"\0\x0d\0\0\0\1\0\0\0\0\0\0\0\2\0"
    second = b"\1\x09\0\0\0\3\0\0\0\4\0"
    third = b"\2\x0d\0\0\0\0\0\0\0\5\0\0\0\6\0"
    assert data.endswith(b"\3" + first + second + third + b"\0\0")


@pytest.mark.parametrize("empty", [(), []])
def test_an_empty_tagged_array_is_not_written(empty):
    message = ApiVersionsResponse(supported_features=empty, finalized_features=empty)
    assert codec.encode_response(ApiKey.API_VERSIONS, 3, message) == b"\0\0\1\0\0\0\0\0"


def test_a_tagged_array_with_elements_is_written():
    feature = ApiVersionsResponse.SupportedFeatureKey("f", 0, 1)
    data = codec.encode_response(ApiKey.API_VERSIONS, 3, ApiVersionsResponse(supported_features=[feature]))
    assert data == b"\0\0\1\0\0\0\0\1\0\x08\2\2f\0\0\0\1\0"


def test_no_tagged_struct_holds_an_array_so_that_defaults_compare():
    for name in message_names():
        schema = load_message(name)
        for struct in (schema.root, *schema.structs.values()):
            for field in struct.fields:
                if field.tag is not None and field.type_name not in PRIMITIVES and not field.is_array:
                    assert default_of(field) is None or not any(
                        one.is_array for one in schema.structs[field.type_name].fields
                    )


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16_382, 16_383, 32_767])
@pytest.mark.parametrize("version", [8, 9])
def test_strings_of_every_width_of_length(size, version):
    message = messages.MetadataRequest([messages.MetadataRequest.MetadataRequestTopic(name="x" * size)])
    data = codec.encode_request(ApiKey.METADATA, version, message)
    assert codec.decode_request(ApiKey.METADATA, version, memoryview(data)).topics[0].name == "x" * size
    assert len(data) - size == {8: 4 + 2 + 3, 9: 1 + 1 + (size > 126) + (size > 16_382) + 1 + 3 + 1}[version]


@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 20_000])
@pytest.mark.parametrize("version", [1, 9])
def test_arrays_of_every_width_of_count(count, version):
    message = messages.MetadataRequest([messages.MetadataRequest.MetadataRequestTopic(name="t")] * count)
    data = codec.encode_request(ApiKey.METADATA, version, message)
    assert len(codec.decode_request(ApiKey.METADATA, version, memoryview(data)).topics) == count


@pytest.mark.parametrize(("version", "data"), [(1, b"\xff\xff\xff\xff"), (9, b"\0\1\0\0\0")])
def test_a_null_array(version, data):
    message = messages.MetadataRequest(None, allow_auto_topic_creation=True)
    assert codec.encode_request(ApiKey.METADATA, version, message) == data


@pytest.mark.parametrize("present", [True, False])
def test_a_nullable_struct_stands_behind_a_marker(present):
    request = messages.ConsumerGroupDescribeResponse
    assert request().groups == ()
    member = messages.ConsumerGroupMemberMetadataValue
    value = member.ClassicMemberMetadata(7, [member.ClassicProtocol("range", b"x")]) if present else None
    data = codec.encode_struct("ConsumerGroupMemberMetadataValue", 0, member(classic_member_metadata=value))
    found = codec.decode_struct("ConsumerGroupMemberMetadataValue", 0, data)
    assert found.classic_member_metadata == value
    assert data.endswith(b"\1" + b"\0\0\0\7\2\6range\2x\0\0") == present
