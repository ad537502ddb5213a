import base64
import json

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.record_text import compile_format, render_json
from headrace.protocol.record_batch import Record

RECORD = Record(7, 1_700, b"key", b"value", (("a", b"1"), ("b", None)))
EMPTY = Record(8, 0, None, None, ())


def render(template, record=RECORD, null=b""):
    return compile_format("--format", template, null)("t", 3, record)


def test_every_token():
    assert render("%t %p %o %T %k %s %h %K %S %%") == b"t 3 7 1700 key value a=1,b= 3 5 %"
    assert render(r"\n\t\r\0\\\x41\xff") == b"\n\t\r\0\\A\xff"
    assert render("") == b""


def test_null_is_shown_as_told():
    assert render("%k|%s|%K|%S|%h", EMPTY) == b"||-1|-1|"
    assert render("%k|%s|%h", EMPTY, b"NULL") == b"NULL|NULL|"
    assert render("%h", null=b"NULL") == b"a=1,b=NULL"


@pytest.mark.parametrize("token", ["%x", "%", "\\q", "\\", "\\x4", "%é"])
def test_a_token_that_is_none_is_named(token):
    with pytest.raises(typer.BadParameter) as failure:
        render(f"abc {token}")
    assert repr(token[:2]) in failure.value.message
    assert failure.value.param_hint == "--format"


contents = st.none() | st.binary(max_size=30)


def value_of(field):
    if isinstance(field, dict):
        return base64.b64decode(field["base64"])
    return None if field is None else field.encode()


@given(contents, contents, st.lists(st.tuples(st.text(max_size=5), contents)))
def test_json_loses_nothing(key, value, headers):
    line = render_json("t", 3, Record(9, 5, key, value, tuple(headers)))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    fields = json.loads(line)
    assert (fields["topic"], fields["partition"], fields["offset"], fields["timestamp"]) == ("t", 3, 9, 5)
    assert (value_of(fields["key"]), value_of(fields["value"])) == (key, value)
    assert [(name, value_of(content)) for name, content in fields["headers"]] == headers
