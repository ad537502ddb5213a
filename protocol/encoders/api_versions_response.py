"""Encoders of ApiVersionsResponse, v0 to v4.

Made by `make codec` from protocol/schema/18_api_versions.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0 = Struct(">?").pack
pack_h = Struct(">h").pack
pack_hB = Struct(">hB").pack
pack_hhh = Struct(">hhh").pack
pack_hhhx = Struct(">hhhx").pack
pack_hhx = Struct(">hhx").pack
pack_hi = Struct(">hi").pack
pack_i = Struct(">i").pack
pack_q = Struct(">q").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, api_keys, _, _, _, _, _ = msg
    # error_code to api_keys
    put(pack_hi(error_code, len(api_keys)))
    # api_keys
    for api_key, min_version, max_version in api_keys:
        # api_keys.api_key to api_keys
        put(pack_hhh(api_key, min_version, max_version))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, api_keys, throttle_time_ms, _, _, _, _ = msg
    # error_code to api_keys
    put(pack_hi(error_code, len(api_keys)))
    # api_keys
    for api_key, min_version, max_version in api_keys:
        # api_keys.api_key to api_keys
        put(pack_hhh(api_key, min_version, max_version))
    # throttle_time_ms to the end
    put(pack_i(throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        error_code,
        api_keys,
        throttle_time_ms,
        supported_features,
        finalized_features_epoch,
        finalized_features,
        zk_migration_ready,
    ) = msg
    # api_keys
    n = len(api_keys) + 1
    if n < 128:
        # error_code to api_keys
        put(pack_hB(error_code, n))
    # api_keys
    else:
        # error_code to api_keys
        put(pack_h(error_code))
        # api_keys
        put(encode_uvarint(n))
    for api_key, min_version, max_version in api_keys:
        # api_keys.api_key to api_keys
        put(pack_hhhx(api_key, min_version, max_version))
    # throttle_time_ms to the end
    put(pack_i(throttle_time_ms))
    # the message
    if (
        supported_features == ()
        and finalized_features_epoch == -1
        and finalized_features == ()
        and zk_migration_ready is False
    ):
        put(b"\0")
    else:
        tags = []
        outer = out
        # supported_features
        if supported_features is None or len(supported_features):
            out = []
            put = out.append
            n = len(supported_features) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for name, min_version_2, max_version_2 in supported_features:
                # supported_features.name
                text = name.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
                # supported_features.min_version to supported_features
                put(pack_hhx(min_version_2, max_version_2))
            # supported_features
            tags.append((0, join(out)))
        # finalized_features_epoch
        if finalized_features_epoch != -1:
            out = []
            put = out.append
            put(pack_q(finalized_features_epoch))
            tags.append((1, join(out)))
        # finalized_features
        if finalized_features is None or len(finalized_features):
            out = []
            put = out.append
            n = len(finalized_features) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for name_2, max_version_level, min_version_level in finalized_features:
                # finalized_features.name
                text = name_2.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
                # finalized_features.max_version_level to finalized_features
                put(pack_hhx(max_version_level, min_version_level))
            # finalized_features
            tags.append((2, join(out)))
        # zk_migration_ready
        if zk_migration_ready != False:
            out = []
            put = out.append
            put(pack_B0(zk_migration_ready))
            tags.append((3, join(out)))
        # the message
        out = outer
        put = out.append
        n = len(tags)
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for tag, text in tags:
            put(UVARINTS[tag] if tag < 128 else encode_uvarint(tag))
            n = len(text)
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(text)
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v1,
    3: encode_v3,
    4: encode_v3,
}
PLACES: Final = """\
25 36 42 55 61 90 145 the message
30 47 77 81 error_code to api_keys
32 49 74 79 83 api_keys
34 51 86 api_keys.api_key to api_keys
53 88 throttle_time_ms to the end
101 115 supported_features
108 supported_features.name
113 supported_features.min_version to supported_features
117 finalized_features_epoch
123 137 finalized_features
130 finalized_features.name
135 finalized_features.max_version_level to finalized_features
139 zk_migration_ready
"""
