"""`headrace settings`: every setting is there, in each form, and a word finds its keys."""

import json

import pytest
import typer

from headrace.cli.settings import settings
from headrace.settings import BROKER_SETTINGS, TOPIC_SETTINGS


def rows(capsys, *words, **options):
    settings(list(words), as_json=True, **options)
    return {row["key"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}


def test_every_setting_of_a_node_and_of_a_topic_is_told(capsys):
    assert list(rows(capsys)) == [setting.key for setting in BROKER_SETTINGS]
    assert list(rows(capsys, of_topics=True)) == sorted(TOPIC_SETTINGS)


def test_a_row_says_default_type_values_and_what_it_does(capsys):
    found = rows(capsys, "num.partitions", "compression.type", "broker.rack", "headrace.partitions.max")
    assert found["num.partitions"]["default"] == "1"
    assert found["num.partitions"]["type"] == "int"
    assert found["num.partitions"]["values"] == "from 1"
    assert found["compression.type"]["values"].startswith("producer, uncompressed")
    assert (found["compression.type"]["changes"], found["num.partitions"]["changes"]) == ("live", "restart")
    assert found["broker.rack"]["default"] is None
    assert found["headrace.partitions.max"]["values"] == "16 to 1048576"
    assert all(row["doc"] for row in found.values())


def test_a_topics_setting_names_the_brokers(capsys):
    assert "log.retention.ms" in rows(capsys, "retention.ms", of_topics=True)["retention.ms"]["doc"]


def test_text_and_markdown_have_a_line_for_each(capsys):
    settings([])
    assert len(capsys.readouterr().out.splitlines()) == len(BROKER_SETTINGS) + 1
    settings([], as_markdown=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(BROKER_SETTINGS) + 2
    assert {line.replace("\\|", "").count("|") for line in lines} == {7}


def test_a_word_that_is_in_no_key_is_refused():
    with pytest.raises(typer.BadParameter, match="'nonsense' matches no key"):
        settings(["nonsense"])
    for word in ("ssl", "super.users", "sasl.enabled.mechanisms"):
        with pytest.raises(typer.BadParameter, match="a node refuses to start with"):
            settings([word])
