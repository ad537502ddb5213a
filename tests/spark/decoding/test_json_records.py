"""JSON into columns: one row a record, whatever its neighbours hold; by the kernel, where it may be, and by pyarrow.json alone."""

import json as python_json
import math
import random
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from headrace.spark.decoding import json, json_records
from headrace.spark.decoding.decoder import cut
from headrace.spark.decoding.flat_json import flat_json
from tests.support import walkers

DDL = "a long, s string"


@pytest.fixture(autouse=True, params=["kernel", "python"])
def walker(request):
    with pytest.MonkeyPatch.context() as patched:
        walkers.use(patched, request.param)
        yield request.param


def decoded(values, ddl=DDL, **arguments):
    """Rows as tuples, and the reasons."""
    decoder = json(ddl, **arguments)
    found = decoder.decode(pa.array(values, pa.binary()), decoder.fields("value").names)
    for column in found.columns:
        column.validate(full=True)
        assert len(column) == len(values)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True)), found.reasons


NOTHING = (None, None)
NASTY = [
    (b'{"a": 1, "s": "x"}', (1, "x"), ""),
    (None, NOTHING, ""),
    (b"", NOTHING, "the value is empty"),
    (b"   ", NOTHING, "the value is empty"),
    (b"{}", NOTHING, ""),
    (b'  {"a": 1}\n', (1, None), ""),
    (b'{\n  "a": 1,\r\n\t"s": "x"\n}', (1, "x"), ""),
    (b"null", NOTHING, "not a JSON object"),
    (b"[1]", NOTHING, "not a JSON object"),
    (b"\xef\xbb\xbf{}", NOTHING, "not a JSON object"),
    (b'{"a": 1}{"a": 2}', NOTHING, "Extra data"),
    (b'{"a": 1}\n{"a": 2}', NOTHING, "Extra data"),
    (b'{"a": {"b": 1}', NOTHING, "not valid JSON"),
    (b'{"s": "x}', NOTHING, "not valid JSON"),
    (b'{y"}', NOTHING, "not valid JSON"),
    (b'{"a": 1}}', NOTHING, "Extra data"),
    (b'{"s": "x\ny"}', NOTHING, "control character"),
    (b'{"s": "x\\ny \\u00e9 \\ud83d\\ude00"}', (None, "x\ny é \N{GRINNING FACE}"), ""),
    (b'{"s": "\xc3\xa9"}', (None, "é"), ""),
    (b'{"s": "\xff"}', NOTHING, "not valid UTF-8 at byte 7"),
    (b'{"other": "\xff"}', NOTHING, "not valid UTF-8"),
    (b'{"s": "\\ud800"}', NOTHING, "surrogate"),
    (b'{"s": "\\u0000"}', (None, "\0"), ""),
    (b'{"a": "1"}', NOTHING, 'a is "1", expected bigint'),
    (b'{"a": true}', NOTHING, "a is true, expected bigint"),
    (b'{"a": 1.0}', NOTHING, "a is 1.0, expected bigint"),
    (b'{"a": 1e3}', NOTHING, "expected bigint"),
    (b'{"a": 9223372036854775807}', (2**63 - 1, None), ""),
    (b'{"a": 9223372036854775808}', NOTHING, "expected bigint"),
    (b'{"a": [1]}', NOTHING, "a is [1], expected bigint"),
    (b'{"s": 1}', NOTHING, "s is 1, expected a string"),
    (b'{"s": {"deep": 1}}', NOTHING, "expected a string"),
    (b'{"a": null, "s": null}', NOTHING, ""),
    (b'{"a": 1, "a": 2}', NOTHING, "twice"),
    (b'{"b": 1, "b": 2, "a": 3}', (3, None), ""),
    (b'{"b": {"a": [1, {"s": []}]}, "a": 4}', (4, None), ""),
    (b'{"a": 1,}', NOTHING, "not valid JSON"),
    (b"{'a': 1}", NOTHING, "not valid JSON"),
    (b'{"a": 1} // no', NOTHING, "not a JSON object"),
    (b'{"b": NaN, "a": 5}', (5, None), ""),
    (b'{"b": ' + b"[" * 5000 + b"]" * 5000 + b', "a": 6}', (6, None), ""),
    (b'{"b": ' + b"9" * 300 + b', "a": 7}', (7, None), ""),
    (b"\x00{}", NOTHING, "not a JSON object"),
]


@pytest.mark.parametrize(("value", "row", "reason"), NASTY)
def test_a_record_alone(value, row, reason):
    rows, reasons = decoded([value])
    assert rows == [row]
    assert bool(reasons) == bool(reason)
    assert reason in reasons.get(0, "")


def test_a_record_among_others_is_what_it_is_alone():
    seed = random.randrange(10**9)
    dice = random.Random(seed)
    for _ in range(30):
        picked = dice.choices(NASTY, k=dice.choice([2, 3, 10, 600]))
        rows, reasons = decoded([value for value, _row, _reason in picked])
        assert rows == [row for _value, row, _reason in picked], seed
        assert set(reasons) == {index for index, (_v, _r, reason) in enumerate(picked) if reason}, seed


@pytest.mark.parametrize("between", [b",", b";", b"|", b"\x1e", b" and ", b"\xef\xbb\xbf", b"", b"\n", b" NaN "])
@pytest.mark.parametrize("name", [b"Nina", b"nina", b"Ida"])
def test_a_record_of_two_documents_makes_no_other_one_bad(between, name):
    """Names have an N or an I, which Python's json leaves to pyarrow; pyarrow counts documents."""
    good, poison = b'{"a": 1, "s": "x"}', b'{"s": "' + name + b'"}' + between + b'{"a": 1}'
    for picked in ([good, poison, good, good], [poison, poison, good], [good, poison], [poison, good, poison, good]):
        rows, reasons = decoded(picked)
        assert set(reasons) == {index for index, one in enumerate(picked) if one is poison}
        assert rows == [NOTHING if one is poison else (1, "x") for one in picked]


@pytest.mark.slow
def test_no_two_of_them_make_a_third():
    """Each pair, with good records around: an open string or brace never takes in the next record."""
    good = NASTY[0]
    for first in NASTY[:36]:
        for second in NASTY[:36]:
            picked = [good, first, second, good]
            rows, reasons = decoded([value for value, _row, _reason in picked])
            assert rows == [row for _value, row, _reason in picked], (first, second)
            assert set(reasons) == {index for index, (_v, _r, reason) in enumerate(picked) if reason}, (first, second)


def test_types():
    ddl = (
        "b byte, i int, f float, d double, t boolean, ts timestamp, n timestamp_ntz, day date, m decimal(6,2), "
        "list array<struct<x: int, days: array<date>>>, `odd name` string"
    )
    value = {
        "b": -128, "i": 2**31 - 1, "f": 1.5, "d": 1e300, "t": False, "ts": "2024-05-06T07:08:09.123+02:00", "n": "2024-05-06 07:08:09",
        "day": "1969-12-31", "m": 1.25, "list": [{"x": 1, "days": ["2024-01-01", None]}, None, {}], "odd name": "o",
    }  # fmt: skip
    (row,), reasons = decoded([python_json.dumps(value).encode()], ddl)
    assert not reasons
    assert row == (
        -128, 2**31 - 1, 1.5, 1e300, False, datetime(2024, 5, 6, 5, 8, 9, 123000, UTC), datetime(2024, 5, 6, 7, 8, 9), date(1969, 12, 31),
        Decimal("1.25"), [{"x": 1, "days": [date(2024, 1, 1), None]}, None, {"x": None, "days": None}], "o",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ddl", "text", "reason"),
    [
        ("x byte", b"128", "expected tinyint"),
        ("x int", b"2147483648", "expected int"),
        ("x boolean", b"1", "expected a boolean"),
        ("x boolean", b'"true"', "expected a boolean"),
        ("x double", b'"1.5"', "expected a number"),
        ("x double", b"1e999", "too big"),
        ("x timestamp", b'"yesterday"', "expected a timestamp"),
        ("x timestamp", b'"2024-13-01T00:00:00Z"', "2024-13-01"),
        ("x timestamp", b'"2024-01-01T00:00:00.123456789Z"', "expected a timestamp"),
        ("x timestamp", b"1700000000", "expected a timestamp"),
        ("x date", b'"2024-02-30"', "2024-02-30"),
        ("x date", b"19000", "expected a date"),
        ("x decimal(4,2)", b"1.255", "scale"),
        ("x decimal(4,2)", b"123456", "decimal"),
        ("x struct<y: int>", b"[]", "expected an object"),
        ("x struct<y: struct<z: int>>", b'{"y": {"z": "1"}}', 'x.y.z is "1"'),
        ("x array<int>", b"{}", "expected an array"),
        ("x array<int>", b"[1, null, 2.5]", "x[] is 2.5"),
    ],
)
def test_wrong_types(ddl, text, reason):
    good = b'{"x": null}'
    rows, reasons = decoded([good, b'{"x": %s}' % text, good], ddl)
    assert rows == [(None,)] * 3
    assert list(reasons) == [1]
    assert reason in reasons[1]


def test_a_float_that_json_has_no_word_for():
    (row,), reasons = decoded([b'{"x": -Infinity, "y": NaN}'], "x double, y float")
    assert not reasons
    assert row[0] == -math.inf
    assert math.isnan(row[1])


def test_only_the_columns_asked_for_are_checked():
    decoder = json(DDL)
    values = pa.array([b'{"a": "wrong", "s": "x"}'], pa.binary())
    assert decoder.decode(values, ["s"]).columns[0].to_pylist() == ["x"]
    assert not decoder.decode(values, ["s"]).reasons
    assert list(decoder.decode(values, ["a"]).reasons) == [0]
    assert decoder.decode(values, ["s", "a"]).columns[0].to_pylist() == [None]
    with pytest.raises(ValueError, match="the value has a, s"):
        decoder.decode(values, ["b"])


def test_more_bytes_than_are_parsed_together(monkeypatch):
    monkeypatch.setattr(json_records, "BYTES_TOGETHER", 1000)
    values = [b'{"a": %d, "s": "%s"}' % (number, b"x" * (number % 1500)) for number in range(1600)]
    values[700] = b"{]}"
    rows, reasons = decoded(values)
    assert [row[0] for row in rows] == [None if number == 700 else number for number in range(1600)]
    assert list(reasons) == [700]


def test_a_slice_of_an_array_and_an_empty_one():
    values = pa.array([b'{"a": 1}', None, b"{", b'{"a": 4}', b'{"a": 5}'], pa.binary()).slice(1, 3)
    found = json(DDL).decode(values, ["a"])
    assert (found.columns[0].to_pylist(), list(found.reasons)) == ([None, None, 4], [1])
    found = json(DDL).decode(values.slice(0, 0), ["a"])
    assert (found.columns[0].to_pylist(), found.reasons) == ([], {})
    assert [range(low, high) for low, high in cut(values, 5)] == [range(2), range(2, 3)]


def test_the_wire_format_and_a_prefix():
    rows, reasons = decoded(
        [b'\0\0\0\0\x07{"a": 1}', b'{"a": 1}', b"\0\0", None, b"\0\0\0\0\x07"], prefix="p_", confluent=True
    )
    assert rows == [(1, None), NOTHING, NOTHING, NOTHING, NOTHING]
    assert reasons == {
        1: "not the Confluent wire format: begins with 0x7b, not with 0x00",
        2: "not the Confluent wire format: 2 bytes, but the header alone has 5",
        4: "the value is empty",
    }
    assert json(DDL, prefix="p_").fields("value").names == ["p_a", "p_s"]


@pytest.mark.parametrize(
    ("ddl", "reason"),
    [
        ("m map<string, int>", "JSON is not decoded as map"),
        ("x struct<b: binary>", "JSON is not decoded as binary"),
        ("x interval", "type 'interval' is unknown"),
    ],
)
def test_schemas_that_json_has_no_way_to_fill(ddl, reason):
    with pytest.raises(ValueError, match=reason):
        json(ddl)
    with pytest.raises(TypeError, match="must be Spark DDL or a StructType"):
        json(7)


FLAT = "a long, s string, b byte, h short, i int, d double, k boolean"
WORDS = [
    *("0", "1", "-1", "-0", "127", "-128", "128", "-129", "32767", "-32768", "32768", "2147483647", "-2147483648", "2147483648"),
    *("999999999999999999", "-999999999999999999", "1234567890123456789", "9223372036854775807", "-9223372036854775809"),
    *("0.1", "-0.0", "1.5", "123456789.012345", "0.3333333333333333", "1e3", "1E-2", "2.5e+7", "01", "1.", ".5", "-", "+1", "1_0"),
    *("NaN", "Infinity", "true", "false", "null", "tru", "True", "nul", "{}", "[]", "[1,2]", '{"a":1,"a":2}', "[1,]", "{,}"),
    *('""', '"x"', '"a longer text, of more than eight bytes"', '"é"', '"\\n"', '"\\u00e9"', '"\\ud800"', '"\\"', '"tab\t"'),
    *('"1"', '"12345678'),
    *("1 ", " 1", "\n1\r", "", '"a":1', "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", '{"x":{"y":[{"z":"w"}]}}'),
]  # fmt: skip
KEYS = ["a", "s", "b", "h", "i", "d", "k", "other", "", "A", "é", "\\u0061"]


def record_of(dice):
    """Mostly an object with values of its columns' types; any values, or bytes that were changed, else."""
    fits = {"a": "1", "s": '"x"', "b": "-7", "h": "300", "i": "70000", "d": "2.5", "k": "true"}
    names = dice.sample(KEYS[:8], dice.randrange(8)) if dice.random() < 0.7 else dice.choices(KEYS, k=dice.randrange(5))
    space = dice.choice(["", "", " ", "\n"])
    parts = [
        f'"{name}"{space}:{space}{fits.get(name, "0") if dice.random() < 0.7 else dice.choice(WORDS)}' for name in names
    ]
    made = bytearray(f"{{{space}{f'{space},{space}'.join(parts)}{space}}}".encode())
    if dice.random() < 0.3:
        for _ in range(dice.randrange(1, 3)):
            place = dice.randrange(len(made) + 1)
            made[place : place + dice.randrange(2)] = dice.choice(
                [b"", b'"', b"\\", b",", b"}", b"\x00", b"\xff", b" ", b"9", b"{"]
            )
    return bytes(made)


@pytest.mark.slow
def test_the_kernel_takes_nothing_that_pyarrow_reads_otherwise(walker):
    """Rows, and which of them are bad, are the same with the kernel and without it."""
    if walker == "python":
        pytest.skip("it compares the two")
    seed = random.randrange(10**9)
    dice = random.Random(seed)
    for _ in range(40):
        values = [None if dice.random() < 0.05 else record_of(dice) for _ in range(dice.choice([1, 5, 300]))]
        ddl = dice.choice([FLAT, FLAT, "a long", "d double, s string"])
        by_kernel = decoded(values, ddl)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(json_records, "flat_json", lambda *_given: None)
            rows, reasons = decoded(values, ddl)
        assert list(map(repr, by_kernel[0])) == list(map(repr, rows)), seed  # -0.0 is not 0.0
        assert by_kernel[1].keys() == reasons.keys(), seed


def test_what_the_kernel_takes_alone(walker):
    """So that it is not pyarrow that passes the tests above."""
    plain = [
        b'{"a":1,"s":"x"}',
        b'{ "s" : "long enough for eight" ,\n"other":{"deep":[1.5e3,{}]},"a":-2 }',
        None,
        b"{}",
        b'{"a":null}',
    ]
    left = [
        b'{"s":"\\n"}',
        b'{"a":1.0}',
        b'{"a":1,"a":1}',
        b'{"a":1}{"a":2}',
        b' {"a":1}',
        b'{"a":"1"}',
        b'{"s":"x',
        b"",
    ]
    flat = flat_json(["a", "s"], [pa.int64(), pa.string()])
    if walker == "python":
        assert flat is None
        return
    columns, is_sound = flat.columns(pa.array([*plain, *left], pa.binary()))
    assert is_sound.tolist() == [True] * len(plain) + [False] * len(left)
    assert columns[0].to_pylist() == [1, -2, None, None, None] + [None] * len(left)
    assert columns[1].to_pylist() == ["x", "long enough for eight", None, None, None] + [None] * len(left)
    assert flat.columns(pa.array([b'{"a":1}', b'{"other":"\xff"}'], pa.binary())) is None
    assert flat_json(["a"], [pa.list_(pa.int64())]) is None
    assert flat_json([f"f{index}" for index in range(65)], [pa.int64()] * 65) is None
