"""The files of decoders and encoders: versions of one layout share a function, and each line has its field."""

import random
import re
from importlib import import_module

import pytest

from headrace.protocol import codec
from headrace.protocol.message_table import MESSAGES
from tests.support import message_generator as generator
from tools.codec.field_tables import SCHEMA, message_names, parse_schema
from tools.codec.function_file import decoders_source, encoders_source, with_places
from tools.codec.function_source import NO_PLACE

TEXT = """
api 7 Mill

request versions 0-3 flexible 3+
  wheel string 0+
  weight int32 2+ = 7
"""


@pytest.fixture(scope="module")
def mill():
    return parse_schema(TEXT)["MillRequest"]


def test_versions_of_one_layout_share_a_function(mill):
    for source, prefix in ((decoders_source, "decode"), (encoders_source, "encode")):
        text = source(mill, "Of MillRequest.")
        assert re.findall(r"^def (\w+)", text, re.MULTILINE) == [f"{prefix}_v{version}" for version in (0, 2, 3)]
        assert f"= {{0: {prefix}_v0, 1: {prefix}_v0, 2: {prefix}_v2, 3: {prefix}_v3}}" in text


def test_what_a_version_lacks_is_its_default(mill):
    assert "return new(MillRequest, (wheel, 7))" in decoders_source(mill, "")


def test_a_file_imports_what_it_uses(mill):
    assert "struct import Struct\n" in decoders_source(mill, "")
    assert "unpack_from" not in re.findall(r"^from struct import (.*)", decoders_source(mill, ""), re.MULTILINE)[0]
    assert "messages" not in encoders_source(mill, "").partition("def ")[0]


def test_places_are_the_lines_of_the_comments():
    text = 'def decode_v0(buf):\n    pos = 0\n    # a to b\n    x\n    # the message\n    y\nPLACES: Final = ""\n'
    assert with_places(text).partition("PLACES: Final = ")[2] == '"""\\\n1 5 the message\n3 a to b\n"""\n'
    assert NO_PLACE == "the message"


def line_of(failure, file_name):
    """The line of a file at which a failure left it; None where it did not pass it."""
    line = None
    step = failure.__traceback__
    while step is not None:
        line = step.tb_lineno if step.tb_frame.f_code.co_filename.endswith(file_name) else line
        step = step.tb_next
    return line


def failure_of(function, argument):
    try:
        function(argument)
    except Exception as failure:
        return failure
    return None


@pytest.mark.parametrize("name", message_names())
def test_a_refusal_names_the_field_whose_comment_is_nearest(name):
    """The table and the comments of a file say the same of every line at which a decoder fails."""
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    module, low, high, _flexible = MESSAGES[name]
    lines = (SCHEMA.parent / "decoders" / f"{module}.py").read_text().splitlines()
    decoders = import_module(f"headrace.protocol.decoders.{module}").DECODERS
    for number in range(30):
        version = chance.randint(low, high)
        whole = codec.encode_struct(name, version, generator.MessageGenerator(number).message(name, version))
        failure = failure_of(decoders[version], memoryview(generator.damaged(whole, chance)))
        if failure is not None:
            above = reversed(lines[: line_of(failure, f"decoders/{module}.py")])
            nearest = next(line.strip() for line in above if line.lstrip().startswith("# ") or line.startswith("def "))
            wanted = nearest.removeprefix("# ") if nearest.startswith("# ") else NO_PLACE
            assert (codec.place_of(failure) or NO_PLACE) == wanted, (seed, number)
