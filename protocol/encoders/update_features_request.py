"""Encoders of UpdateFeaturesRequest, v0 to v1.

Made by `make codec` from protocol/schema/57_update_features.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0x = Struct(">?x").pack
pack_hB0x = Struct(">h?x").pack
pack_hbx = Struct(">hbx").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    timeout_ms, feature_updates, _ = msg
    # feature_updates
    n = len(feature_updates) + 1
    if n < 128:
        # timeout_ms to feature_updates
        put(pack_iB(timeout_ms, n))
    # feature_updates
    else:
        # timeout_ms to feature_updates
        put(pack_i(timeout_ms))
        # feature_updates
        put(encode_uvarint(n))
    for feature, max_version_level, allow_downgrade, _ in feature_updates:
        # feature_updates.feature
        text = feature.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # feature_updates.max_version_level to feature_updates
        put(pack_hB0x(max_version_level, allow_downgrade))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    timeout_ms, feature_updates, validate_only = msg
    # feature_updates
    n = len(feature_updates) + 1
    if n < 128:
        # timeout_ms to feature_updates
        put(pack_iB(timeout_ms, n))
    # feature_updates
    else:
        # timeout_ms to feature_updates
        put(pack_i(timeout_ms))
        # feature_updates
        put(encode_uvarint(n))
    for feature, max_version_level, _, upgrade_type in feature_updates:
        # feature_updates.feature
        text = feature.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # feature_updates.max_version_level to feature_updates
        put(pack_hbx(max_version_level, upgrade_type))
    # validate_only to the end
    put(pack_B0x(validate_only))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
21 45 52 78 the message
26 31 35 57 62 66 feature_updates
29 33 60 64 timeout_ms to feature_updates
38 69 feature_updates.feature
43 74 feature_updates.max_version_level to feature_updates
76 validate_only to the end
"""
