"""Confluent's serializers and ours write the same bytes for one registry, and each reads what the other wrote.

Confluent's run in a virtual environment of their own in the user's cache, made once.
"""

import base64
import hashlib
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from headrace.client import Registry
from tests.support.fake_registry import FakeRegistry
from tests.support.order_messages import ORDER_AVRO, ORDER_JSON, Line, Money, Order, Other, file_set
from tests.support.tree import ROOT

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1200)]

PACKAGE = "confluent-kafka[avro,protobuf,json]==2.16.1"
INSTALL_S, WORK_S = 600, 120


@pytest.fixture(scope="module")
def python():
    """The interpreter of an environment with Confluent's serializers."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = hashlib.blake2b(f"{PACKAGE} {sys.version}".encode(), digest_size=4).hexdigest()
    home = cache / "headrace" / f"confluent-serializers-{name}"
    if not (home / "installed").exists():
        venv.create(home, clear=True, with_pip=True)
        pip = [home / "bin" / "python", "-m", "pip", "-q", "install", PACKAGE]
        subprocess.run(pip, check=True, timeout=INSTALL_S)
        (home / "installed").touch()
    return home / "bin" / "python"


def confluent(python, registry, jobs):
    program = ROOT / "tests" / "interop" / "confluent_serializers.py"
    given = json.dumps({"registry": registry.url, "jobs": jobs})
    done = subprocess.run([python, program], input=given, capture_output=True, text=True, timeout=WORK_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_both_write_the_same_bytes_and_read_each_other(python):
    files = file_set()
    order = Order(id=7, price=Money(cents=5), line=Line(sku="a"))
    with FakeRegistry() as fake:
        ours = Registry(fake.url)
        cases = [
            ("avro", ORDER_AVRO, {"id": 7, "note": "x"}, ours.avro(ORDER_AVRO), {"id": 7, "note": "x"}),
            ("protobuf", ["shop.Order", files], {"id": "7", "price": {"cents": "5"}, "line": {"sku": "a"}}, ours.protobuf(Order), order),
            ("protobuf", ["shop.Order.Line", files], {"sku": "a"}, ours.protobuf(Line), Line(sku="a")),
            ("protobuf", ["shop.Other", files], {"sku": "b"}, ours.protobuf(Other), Other(sku="b")),
            ("json", ORDER_JSON, {"id": 7, "note": "x"}, ours.json(dict, schema=ORDER_JSON), {"id": 7, "note": "x"}),
        ]  # fmt: skip
        writes = [[form, "serialize", "orders", schema, content] for form, schema, content, _one, _value in cases]
        theirs = [base64.b64decode(data) for data in confluent(python, fake, writes)]
        subjects, schemas = json.dumps(fake.subjects), json.dumps(fake.schemas)
        written = [one.serialize("orders", value) for _form, _schema, _content, one, value in cases]
        assert (json.dumps(fake.subjects), json.dumps(fake.schemas)) == (subjects, schemas), "ours registered others"
        assert written == theirs
        assert [case[3].deserialize("orders", data) for case, data in zip(cases, theirs, strict=True)] == [
            case[4] for case in cases
        ]
        reads = [
            [form, "deserialize", "orders", schema, base64.b64encode(data).decode()]
            for (form, schema, _content, _one, _value), data in zip(cases, written, strict=True)
        ]
        assert confluent(python, fake, reads) == [content for _form, _schema, content, _one, _value in cases]
