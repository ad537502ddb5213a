"""docs/arrow.md names what `open` takes, with its defaults, and its filter runs."""

import inspect
import re
from pathlib import Path

import pyarrow.compute as pc

import headrace.arrow
import headrace.arrow.reader
from headrace.ids import TopicPartition

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "arrow.md").read_text()


def test_every_argument_is_in_the_table():
    named = re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE)
    taken = inspect.signature(headrace.arrow.open).parameters
    assert sorted(named) == sorted(set(taken) - {"topic", "bootstrap_servers"})


def test_the_filter_of_the_guide_reads_what_it_says(log, broker):
    log.append(TopicPartition("clicks", 0), [(None, b"error" if number % 2 else b"x") for number in range(510)])
    (line,) = re.findall(r"^ +where = (.*)$", GUIDE, re.MULTILINE)
    where = eval(line, {"pc": pc})
    found = headrace.arrow.open("clicks", bootstrap_servers=broker.address, where=where).read_all()
    assert found["offset"].to_pylist() == [501, 503, 505, 507, 509]
