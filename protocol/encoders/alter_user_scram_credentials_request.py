"""Encoders of AlterUserScramCredentialsRequest, v0.

Made by `make codec` from protocol/schema/51_alter_user_scram_credentials.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_bi = Struct(">bi").pack
pack_biB = Struct(">biB").pack
pack_bx = Struct(">bx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    deletions, upsertions = msg
    # deletions
    n = len(deletions) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, mechanism in deletions:
        # deletions.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # deletions.mechanism to deletions
        put(pack_bx(mechanism))
    # upsertions
    n = len(upsertions) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name_2, mechanism_2, iterations, salt, salted_password in upsertions:
        # upsertions.name
        text = name_2.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # upsertions.salt
        n = len(salt) + 1
        if n < 128:
            # upsertions.mechanism to upsertions.salt
            put(pack_biB(mechanism_2, iterations, n))
        # upsertions.salt
        else:
            # upsertions.mechanism to upsertions.salt
            put(pack_bi(mechanism_2, iterations))
            # upsertions.salt
            put(encode_uvarint(n))
        put(salt)
        # upsertions.salted_password
        n = len(salted_password) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(salted_password)
        # upsertions
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
19 62 the message
24 deletions
28 deletions.name
33 deletions.mechanism to deletions
35 60 upsertions
39 upsertions.name
44 49 53 upsertions.salt
47 51 upsertions.mechanism to upsertions.salt
56 upsertions.salted_password
"""
