"""Headers of Confluent's wire format, of many records at once."""

import numpy as np
import pyarrow as pa
import pytest

from headrace.client.schemas.schema_registry import registry_at
from headrace.spark.decoding.registry import check_target, latest_of
from headrace.spark.decoding.wire_format import check_unknown, schema_ids, unframed
from headrace.spark.errors import RegistryUnavailable
from tests.support.fake_registry import FakeRegistry


def test_headers_of_the_wire_format():
    values = pa.array([b"", b"\0\0\0\1\2x", None, b"\1\0\0\0\0", b"\0\0\0\0", b"\0\xff\xff\xff\xff"], pa.binary())
    for low in (0, 1):
        ids, bad = schema_ids(values.slice(low))
        assert ids.tolist() == [-1, 258, -1, -1, -1, 2**32 - 1][low:]
        assert sorted(bad) == [row - low for row in (0, 3, 4) if row >= low]
    rest, bad = unframed(values)
    assert rest.to_pylist() == [None, b"x", None, None, None, b""]
    assert schema_ids(pa.array([], pa.binary()))[0].tolist() == []
    assert schema_ids(pa.array([None, b""], pa.binary()))[0].dtype == np.int64


def test_many_unknown_ids_are_an_error():
    check_unknown(dict.fromkeys(range(20), "gone"))
    with pytest.raises(RegistryUnavailable, match="more than 20 schema ids of one batch are unknown, such as 0"):
        check_unknown(dict.fromkeys(range(21), "gone"))


def test_a_target_is_one_schema():
    with pytest.raises(ValueError, match="needs a registry"):
        check_target([None], None, "clicks-value", "schema")
    with pytest.raises(ValueError, match="give schema, or registry and subject"):
        check_target([None], None, None, "schema")
    with pytest.raises(ValueError, match="give either subject"):
        check_target(["x"], "http://host", "clicks-value", "schema")


def test_an_unknown_subject_is_named():
    with FakeRegistry() as fake, pytest.raises(ValueError, match="subject 'none'"):
        latest_of(registry_at(fake.url), "none", "AVRO")
