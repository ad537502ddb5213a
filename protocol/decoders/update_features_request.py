"""Decoders of UpdateFeaturesRequest, v0 to v1.

Made by `make codec` from protocol/schema/57_update_features.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from headrace.protocol.varint import read_uvarint

unpack_B0B = Struct(">?B").unpack_from
unpack_hB0B = Struct(">h?B").unpack_from
unpack_hbB = Struct(">hbB").unpack_from
unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> UpdateFeaturesRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # timeout_ms to feature_updates
    timeout_ms, feature_updates_count = unpack_iB(buf, pos)
    # feature_updates
    pos += 5
    if feature_updates_count > 127:
        feature_updates_count, pos = read_uvarint(buf, pos - 1)
    feature_updates_count -= 1
    if feature_updates_count < 0:
        raise Malformed(f"invalid length {feature_updates_count}")
    if feature_updates_count * 5 > end - pos:
        raise Malformed(f"{feature_updates_count} elements announced, {end - pos} bytes remain")
    budget -= feature_updates_count * 228
    if budget < 0:
        raise Malformed(f"{feature_updates_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    feature_updates = []
    for _ in range(feature_updates_count):
        # feature_updates.feature
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
        feature = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # feature_updates.max_version_level to feature_updates.tags
        max_version_level, allow_downgrade, n = unpack_hB0B(buf, pos)
        # feature_updates.tags
        pos += 4
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # feature_updates
        feature_updates.append(new(FeatureUpdateKey, (feature, max_version_level, allow_downgrade, 1)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(UpdateFeaturesRequest, (timeout_ms, feature_updates, False))


def decode_v1(buf: memoryview) -> UpdateFeaturesRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # timeout_ms to feature_updates
    timeout_ms, feature_updates_count = unpack_iB(buf, pos)
    # feature_updates
    pos += 5
    if feature_updates_count > 127:
        feature_updates_count, pos = read_uvarint(buf, pos - 1)
    feature_updates_count -= 1
    if feature_updates_count < 0:
        raise Malformed(f"invalid length {feature_updates_count}")
    if feature_updates_count * 5 > end - pos:
        raise Malformed(f"{feature_updates_count} elements announced, {end - pos} bytes remain")
    budget -= feature_updates_count * 260
    if budget < 0:
        raise Malformed(f"{feature_updates_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    feature_updates = []
    for _ in range(feature_updates_count):
        # feature_updates.feature
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
        feature = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # feature_updates.max_version_level to feature_updates.tags
        max_version_level, upgrade_type, n = unpack_hbB(buf, pos)
        # feature_updates.tags
        pos += 4
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # feature_updates
        feature_updates.append(new(FeatureUpdateKey, (feature, max_version_level, False, upgrade_type)))
    # validate_only to tags
    validate_only, n = unpack_B0B(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(UpdateFeaturesRequest, (timeout_ms, feature_updates, validate_only))


DECODERS: Final[dict[int, Callable[[memoryview], UpdateFeaturesRequest]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
23 71 75 124 the message
27 79 timeout_ms to feature_updates
29 64 81 116 feature_updates
43 95 feature_updates.feature
58 110 feature_updates.max_version_level to feature_updates.tags
60 112 feature_updates.tags
66 120 tags
118 validate_only to tags
"""
