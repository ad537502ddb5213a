"""What comes out some at a time is what comes out at once, in every form that is read."""

import random

import pytest

from headrace.protocol import plain_chunks as plain_chunks_module
from headrace.protocol.compression import Codec, CompressionError, compress, decompress
from headrace.protocol.plain_chunks import CHUNK_BYTES, plain_chunks
from tests.support import codec_forms

FORMS = {**codec_forms.USUAL, **codec_forms.READ, **codec_forms.UNSEEN, **codec_forms.OURS}


def outcome(call):
    try:
        return call()
    except CompressionError:
        return CompressionError


@pytest.mark.parametrize("chunk_bytes", [1, 7, 1_000, CHUNK_BYTES])
@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_same_bytes(form, chunk_bytes, monkeypatch):
    monkeypatch.setattr(plain_chunks_module, "CHUNK_BYTES", chunk_bytes)
    codec, data = FORMS[form]
    at_once = outcome(lambda: bytes(decompress(codec, data)))
    assert outcome(lambda: b"".join(plain_chunks(codec, memoryview(data)))) == at_once


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, 5 * CHUNK_BYTES + 3])
@pytest.mark.parametrize("is_random", [True, False])
def test_none_is_larger_than_a_chunk_whatever_comes_out(codec, size, is_random):
    data = random.Random(size).randbytes(size) if is_random else bytes(size)
    chunks = list(plain_chunks(codec, memoryview(compress(codec, data))))
    assert b"".join(chunks) == data
    assert codec == Codec.NONE or max(map(len, chunks), default=0) <= CHUNK_BYTES


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 5, 7])
def test_garbage_is_refused(codec):
    with pytest.raises(CompressionError):
        list(plain_chunks(codec, memoryview(b"\xff" * 40)))


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_what_is_truncated_is_refused(codec):
    data = compress(codec, random.Random(1).randbytes(100_000))
    with pytest.raises(CompressionError):
        list(plain_chunks(codec, memoryview(data)[: len(data) // 2]))
