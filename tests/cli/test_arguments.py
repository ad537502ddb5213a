import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.arguments import (
    Start,
    only_one,
    parse_group,
    parse_offset,
    parse_pair_list,
    parse_pairs,
    parse_partitions,
    parse_shift,
    parse_start,
    parse_time,
    parse_topic,
    parse_topic_partitions,
)

NOW_MS = 1_800_000_000_000


def refused(call, *arguments):
    with pytest.raises(typer.BadParameter) as failure:
        call("--option", *arguments)
    assert failure.value.exit_code == 2
    assert failure.value.param_hint == "--option"
    return failure.value.message


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "1.0", "1e3", " 1", "1 ", "0x10", "1_000", "½", "١", "9" * 19, "9" * 30]
)
def test_offsets_that_are_none(text):
    assert repr(text) in refused(parse_offset, text)


def test_names_of_groups():
    assert parse_group("--option", "any thing ü") == "any thing ü"
    assert parse_group("--option", "x" * 32_767) == "x" * 32_767
    assert "'' is not a valid group name" in refused(parse_group, "")
    assert "too long" in refused(parse_group, "x" * 32_768)
    assert "too long" in refused(parse_group, "ü" * 16_384)


@given(st.integers(0, 2**63 - 1))
def test_offsets(offset):
    assert parse_offset("--option", str(offset)) == offset


@pytest.mark.parametrize("text", ["", "-", "--1", "-+1", "+-1", "1.5", "ten"])
def test_shifts_that_are_none(text):
    assert repr(text) in refused(parse_shift, text)


def test_shifts():
    assert [parse_shift("--option", text) for text in ("5", "+5", "-5", "0")] == [5, 5, -5, 0]


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("0", 0),
        ("1700000000000", 1_700_000_000_000),
        ("2026-11-21T08:30:00Z", 1_795_249_800_000),
        ("2026-11-21T09:30:00+01:00", 1_795_249_800_000),
        ("2026-11-21T08:30:00.250Z", 1_795_249_800_250),
        ("-90s", NOW_MS - 90_000),
        ("-15m", NOW_MS - 900_000),
        ("-2h", NOW_MS - 7_200_000),
        ("-7d", NOW_MS - 604_800_000),
    ],
)
def test_times(text, time_ms):
    assert parse_time("--option", text, NOW_MS) == time_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-13-01T00:00:00Z",
        "2026-11-21T08:30:00",
        "2026-11-21",
        "1969-01-01T00:00:00Z",
        "-15",
        "15m",
        "-m",
        "-1w",
    ],
)
def test_times_that_are_none(text):
    assert repr(text) in refused(parse_time, text, NOW_MS)


def test_starts():
    texts = ("earliest", "latest", "0", "17", "-10", "@-1m", "@5")
    assert [parse_start("--option", text, NOW_MS) for text in texts] == [
        Start(is_earliest=True),
        Start(is_latest=True),
        Start(offset=0),
        Start(offset=17),
        Start(back=10),
        Start(time_ms=NOW_MS - 60_000),
        Start(time_ms=5),
    ]


@pytest.mark.parametrize("text", ["", "begin", "EARLIEST", "--1", "1-", "@", "@noon", "1,2", "beginning"])
def test_starts_that_are_none(text):
    assert refused(parse_start, text, NOW_MS)


def test_partitions():
    assert parse_partitions("--option", ["0"]) == [0]
    assert parse_partitions("--option", ["4-6,0", "5,9"]) == [0, 4, 5, 6, 9]


@pytest.mark.parametrize("text", ["", ",", "0,", "-1", "1-", "3-1", "a", "0;1", "1.5", "0-999999999", "100000"])
def test_partitions_that_are_none(text):
    assert repr(text) in refused(parse_partitions, [text])


def test_pairs():
    assert parse_pairs("--option", ["a=1", "b=", "c=x=y"]) == {"a": "1", "b": "", "c": "x=y"}
    assert parse_pair_list("--option", ["a=1", "a=2"]) == [("a", "1"), ("a", "2")]


@pytest.mark.parametrize("texts", [["a"], ["=1"], [" =1"], ["a=1", "a=2"], [""]])
def test_pairs_that_are_none(texts):
    assert refused(parse_pairs, texts)


@pytest.mark.parametrize("text", ["", ".", "..", "a b", "a/b", "ä", "a" * 250, "t:0", "a\n"])
def test_names_that_no_topic_has(text):
    assert refused(parse_topic, text)


def test_topics_with_partitions():
    assert parse_topic_partitions("--option", "t") == ("t", None)
    assert parse_topic_partitions("--option", "t:0,2-3") == ("t", [0, 2, 3])
    for text in ("t:", ":1", "t:x", "t:1:2"):
        assert refused(parse_topic_partitions, text)


def test_options_that_exclude_each_other():
    assert only_one({"--a": None, "--b": 0, "--c": False}) == "--b"
    with pytest.raises(typer.BadParameter, match="one of --a, --b"):
        only_one({"--a": None, "--b": False})
    with pytest.raises(typer.BadParameter, match="--a and --b can't be combined"):
        only_one({"--a": "", "--b": True})
