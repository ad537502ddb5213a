"""Text: valid UTF-8 or bad."""

import pyarrow as pa

from headrace.spark.decoding import text


def test_bytes_that_are_no_text_are_bad():
    values = pa.array(
        [b"cut off", b"a", None, b"\xff\xfe", b"", b"\xc3\xa9\0", b"\xc3", b"\xed\xa0\x80"], pa.binary()
    ).slice(1)
    found = text().decode(values, ["value"])
    assert found.columns[0].to_pylist() == ["a", None, None, "", "é\0", None, None]
    assert found.columns[0].type == pa.string()
    assert {row: reason.partition(":")[0] for row, reason in found.reasons.items()} == dict.fromkeys(
        [2, 5, 6], "not valid UTF-8 at byte 0"
    )


def test_the_column_is_called_as_its_source():
    assert text().fields("key").names == ["key"]
    assert text().decode(pa.array([b"k"], pa.binary()), ["key"], "key").columns[0].to_pylist() == ["k"]


def test_good_text_is_not_copied():
    values = pa.array([b"one", b"two"], pa.binary())
    assert text().decode(values, ["value"]).columns[0].buffers()[2].address == values.buffers()[2].address
