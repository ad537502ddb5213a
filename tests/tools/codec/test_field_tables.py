"""The schema text and its tree."""

import pytest

from headrace.errors import ErrorCode
from tools.codec.field_tables import (
    NO_VERSIONS,
    PRIMITIVES,
    SCHEMA,
    VERSION_MAX,
    Versions,
    load_message,
    message_names,
    parse_field,
    parse_schema,
    parse_versions,
)

TEXT = """
api 7 Mill

request versions 0-3 flexible 2+
  wheel string 0+ null 1-2 = "oak"
  # the stones
  stones []Stone 1+
    weight int32 1+ key
    grooves []Groove 2+
      depth int8 2+
  spare Stone 3+ null 3+ tag 4 3+ = null

response versions 0 flexible none
  done bool 0+ = true

Ledger versions 1-2 flexible none
  rows []Row 1+
  struct Row 1+
    text bytes 1+ flexible none
"""


def test_messages_take_the_name_of_their_api():
    found = parse_schema(TEXT)
    assert list(found) == ["MillRequest", "MillResponse", "Ledger"]
    assert found["MillRequest"].versions == Versions(0, 3)
    assert found["MillRequest"].flexible == Versions(2, VERSION_MAX)
    assert found["MillResponse"].flexible == NO_VERSIONS


def test_indentation_says_whose_fields_they_are():
    request = parse_schema(TEXT)["MillRequest"]
    assert [field.name for field in request.root.fields] == ["wheel", "stones", "spare"]
    assert [field.name for field in request.structs["Stone"].fields] == ["weight", "grooves"]
    assert [field.name for field in request.structs["Groove"].fields] == ["depth"]


def test_a_struct_may_be_declared_behind_its_use():
    ledger = parse_schema(TEXT)["Ledger"]
    assert [field.name for field in ledger.structs["Row"].fields] == ["text"]
    assert ledger.structs["Row"].fields[0].is_never_flexible


def test_a_field_line():
    field = parse_field("spare []Stone 3+ key null 3-5 tag 4 5+ = null")
    assert (field.name, field.type_name, field.is_array) == ("spare", "Stone", True)
    assert (field.versions, field.nullable, field.default) == (Versions(3, VERSION_MAX), Versions(3, 5), "null")
    assert not field.is_tagged(4)
    assert field.is_tagged(5)


@pytest.mark.parametrize("line", ["a int8 0+ nul 0+", "a int8 0+ 3"])
def test_an_unknown_word_is_refused(line):
    with pytest.raises(ValueError, match="unknown word"):
        parse_field(line)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("3", {3}, {2, 4}), ("1-2", {1, 2}, {0, 3}), ("2+", {2, 99}, {1}), ("none", set(), {0, 1})],
)
def test_ranges_of_versions(text, inside, outside):
    versions = parse_versions(text)
    assert all(version in versions for version in inside)
    assert not any(version in versions for version in outside)


@pytest.mark.parametrize("name", message_names())
def test_every_field_has_a_known_type_and_a_name_of_its_own(name):
    message = load_message(name)
    for struct in (message.root, *message.structs.values()):
        assert len({field.name for field in struct.fields}) == len(struct.fields)
        for field in struct.fields:
            assert field.type_name in PRIMITIVES or message.structs[field.type_name].fields
            assert field.tag is None or field.tag_versions.low >= message.flexible.low


def test_an_unknown_message_is_a_key_error():
    for name in ("NoSuchRequest", "Nothing", "Request", ""):
        with pytest.raises(KeyError):
            load_message(name)


def test_the_error_codes_are_those_of_the_table():
    rows = [line.split() for line in (SCHEMA / "errors.txt").open()]
    table = {int(code): (name, retriable == "yes") for code, name, retriable, *_rest in rows if code != "#"}
    assert table == {int(code): (code.name, code.retriable) for code in ErrorCode}
