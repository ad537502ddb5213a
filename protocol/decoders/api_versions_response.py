"""Decoders of ApiVersionsResponse, v0 to v4.

Made by `make codec` from protocol/schema/18_api_versions.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, open_tags, skip_tags
from headrace.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from headrace.protocol.varint import read_uvarint

unpack_B0 = Struct(">?").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hhB = Struct(">hhB").unpack_from
unpack_hhh = Struct(">hhh").unpack_from
unpack_hhhB = Struct(">hhhB").unpack_from
unpack_hi = Struct(">hi").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_q = Struct(">q").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ApiVersionsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to api_keys
    error_code, api_keys_count = unpack_hi(buf, pos)
    # api_keys
    pos += 6
    if api_keys_count < 0:
        raise Malformed(f"invalid length {api_keys_count}")
    if api_keys_count * 6 > end - pos:
        raise Malformed(f"{api_keys_count} elements announced, {end - pos} bytes remain")
    budget -= api_keys_count * 204
    if budget < 0:
        raise Malformed(f"{api_keys_count} more would take more than {DECODED_BYTES_MAX} bytes")
    api_keys = []
    for _ in range(api_keys_count):
        # api_keys.api_key to api_keys
        api_key, min_version, max_version = unpack_hhh(buf, pos)
        # api_keys
        pos += 6
        api_keys.append(new(ApiVersion, (api_key, min_version, max_version)))
    # the message
    return new(ApiVersionsResponse, (error_code, api_keys, 0, (), -1, (), False))


def decode_v1(buf: memoryview) -> ApiVersionsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to api_keys
    error_code, api_keys_count = unpack_hi(buf, pos)
    # api_keys
    pos += 6
    if api_keys_count < 0:
        raise Malformed(f"invalid length {api_keys_count}")
    if api_keys_count * 6 > end - pos:
        raise Malformed(f"{api_keys_count} elements announced, {end - pos} bytes remain")
    budget -= api_keys_count * 204
    if budget < 0:
        raise Malformed(f"{api_keys_count} more would take more than {DECODED_BYTES_MAX} bytes")
    api_keys = []
    for _ in range(api_keys_count):
        # api_keys.api_key to api_keys
        api_key, min_version, max_version = unpack_hhh(buf, pos)
        # api_keys
        pos += 6
        api_keys.append(new(ApiVersion, (api_key, min_version, max_version)))
    # throttle_time_ms to the end
    (throttle_time_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(ApiVersionsResponse, (error_code, api_keys, throttle_time_ms, (), -1, (), False))


def decode_v3(buf: memoryview) -> ApiVersionsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to api_keys
    error_code, api_keys_count = unpack_hB(buf, pos)
    # api_keys
    pos += 3
    if api_keys_count > 127:
        api_keys_count, pos = read_uvarint(buf, pos - 1)
    api_keys_count -= 1
    if api_keys_count < 0:
        raise Malformed(f"invalid length {api_keys_count}")
    if api_keys_count * 7 > end - pos:
        raise Malformed(f"{api_keys_count} elements announced, {end - pos} bytes remain")
    budget -= api_keys_count * 204
    if budget < 0:
        raise Malformed(f"{api_keys_count} more would take more than {DECODED_BYTES_MAX} bytes")
    api_keys = []
    for _ in range(api_keys_count):
        # api_keys.api_key to api_keys.tags
        api_key, min_version, max_version, n = unpack_hhhB(buf, pos)
        # api_keys.tags
        pos += 7
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # api_keys
        api_keys.append(new(ApiVersion, (api_key, min_version, max_version)))
    # the message
    supported_features: Any = ()
    finalized_features_epoch = -1
    finalized_features: Any = ()
    zk_migration_ready = False
    # throttle_time_ms to tags
    throttle_time_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        tag_count, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        for _ in range(tag_count):
            tag = buf[pos]
            pos += 1
            if tag > 127:
                tag, pos = read_uvarint(buf, pos - 1)
            tag_size = buf[pos]
            pos += 1
            if tag_size > 127:
                tag_size, pos = read_uvarint(buf, pos - 1)
            tag_stop = pos + tag_size
            if tag_stop > end:
                raise Malformed(f"{tag_size} bytes announced for tag {tag}, {end - pos} remain")
            if tag == 0:
                # tags.supported_features
                supported_features_count = buf[pos]
                pos += 1
                if supported_features_count > 127:
                    supported_features_count, pos = read_uvarint(buf, pos - 1)
                supported_features_count -= 1
                if supported_features_count < 0:
                    raise Malformed(f"invalid length {supported_features_count}")
                if supported_features_count * 6 > end - pos:
                    raise Malformed(f"{supported_features_count} elements announced, {end - pos} bytes remain")
                budget -= supported_features_count * 252
                if budget < 0:
                    raise Malformed(f"{supported_features_count} more would take more than {DECODED_BYTES_MAX} bytes")
                supported_features = []
                for _ in range(supported_features_count):
                    # tags.supported_features.name
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = read_uvarint(buf, pos - 1)
                        if n > STRING_BYTES_MAX + 1:
                            raise Malformed(f"length {n - 1}")
                    n -= 1
                    if n < 0:
                        raise Malformed(f"invalid length {n}")
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    name = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                    # tags.supported_features.min_version to tags.supported_features.tags
                    min_version_2, max_version_2, n = unpack_hhB(buf, pos)
                    # tags.supported_features.tags
                    pos += 5
                    if n:
                        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                    # tags.supported_features
                    supported_features.append(new(SupportedFeatureKey, (name, min_version_2, max_version_2)))
                if pos != tag_stop:
                    raise Malformed("content and its size disagree")
            # tags
            if tag == 1:
                # tags.finalized_features_epoch
                (finalized_features_epoch,) = unpack_q(buf, pos)
                pos += 8
                if pos != tag_stop:
                    raise Malformed("content and its size disagree")
            # tags
            if tag == 2:
                # tags.finalized_features
                finalized_features_count = buf[pos]
                pos += 1
                if finalized_features_count > 127:
                    finalized_features_count, pos = read_uvarint(buf, pos - 1)
                finalized_features_count -= 1
                if finalized_features_count < 0:
                    raise Malformed(f"invalid length {finalized_features_count}")
                if finalized_features_count * 6 > end - pos:
                    raise Malformed(f"{finalized_features_count} elements announced, {end - pos} bytes remain")
                budget -= finalized_features_count * 252
                if budget < 0:
                    raise Malformed(f"{finalized_features_count} more would take more than {DECODED_BYTES_MAX} bytes")
                finalized_features = []
                for _ in range(finalized_features_count):
                    # tags.finalized_features.name
                    n = buf[pos]
                    pos += 1
                    if n > 127:
                        n, pos = read_uvarint(buf, pos - 1)
                        if n > STRING_BYTES_MAX + 1:
                            raise Malformed(f"length {n - 1}")
                    n -= 1
                    if n < 0:
                        raise Malformed(f"invalid length {n}")
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                    # tags.finalized_features.max_version_level to tags.finalized_features.tags
                    max_version_level, min_version_level, n = unpack_hhB(buf, pos)
                    # tags.finalized_features.tags
                    pos += 5
                    if n:
                        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                    # tags.finalized_features
                    finalized_features.append(new(FinalizedFeatureKey, (name_2, max_version_level, min_version_level)))
                if pos != tag_stop:
                    raise Malformed("content and its size disagree")
            # tags
            if tag == 3:
                # tags.zk_migration_ready
                (zk_migration_ready,) = unpack_B0(buf, pos)
                pos += 1
                if pos != tag_stop:
                    raise Malformed("content and its size disagree")
            # tags
            pos = tag_stop
    # the message
    return new(
        ApiVersionsResponse,
        (
            error_code,
            api_keys,
            throttle_time_ms,
            supported_features,
            finalized_features_epoch,
            finalized_features,
            zk_migration_ready,
        ),
    )


DECODERS: Final[dict[int, Callable[[memoryview], ApiVersionsResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v3,
    4: decode_v3,
}
PLACES: Final = """\
33 55 59 83 88 116 238 the message
37 63 92 error_code to api_keys
39 52 65 78 94 114 api_keys
50 76 api_keys.api_key to api_keys
81 throttle_time_ms to the end
108 api_keys.api_key to api_keys.tags
110 api_keys.tags
121 throttle_time_ms to tags
123 180 187 229 236 tags
140 176 tags.supported_features
155 tags.supported_features.name
170 tags.supported_features.min_version to tags.supported_features.tags
172 tags.supported_features.tags
182 tags.finalized_features_epoch
189 225 tags.finalized_features
204 tags.finalized_features.name
219 tags.finalized_features.max_version_level to tags.finalized_features.tags
221 tags.finalized_features.tags
231 tags.zk_migration_ready
"""
