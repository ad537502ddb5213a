"""What of a Delta table a load refuses: what the table uses, not what its version could."""

import json

import pytest

from headrace.load.delta_features import maps_columns, refused


def schema(**metadata):
    return json.dumps({"type": "struct", "fields": [{"name": "a", "type": "long", "metadata": metadata}]})


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6])
def test_a_table_of_any_version_that_uses_nothing_is_written(version):
    assert refused(version, (), {}, schema()) == []


@pytest.mark.parametrize(
    ("version", "features", "configuration", "metadata", "name"),
    [
        (3, (), {"delta.constraints.early": "a < 5"}, {}, "checkConstraints"),
        (2, (), {}, {"delta.invariants": "{}"}, "invariants"),
        (4, (), {}, {"delta.generationExpression": "1"}, "generatedColumns"),
        (5, (), {"delta.columnMapping.mode": "name"}, {}, "columnMapping"),
        (6, (), {}, {"delta.identity.start": 1}, "identityColumns"),
        (7, ("inCommitTimestamp",), {"delta.enableInCommitTimestamps": "true"}, {}, "inCommitTimestamp"),
        (7, ("typeWidening",), {}, {"delta.typeChanges": []}, "typeWidening"),
        (7, ("rowTracking",), {}, {}, "rowTracking"),
        (7, ("of a later version",), {}, {}, "of a later version"),
        (8, (), {}, {}, "writer version 8"),
    ],
)
def test_what_a_table_uses_is_refused_by_its_name(version, features, configuration, metadata, name):
    [found] = refused(version, features, configuration, schema(**metadata))
    assert found.startswith(name)
    assert "(" in found, "with a remedy"


def test_what_a_table_has_and_does_not_use_is_no_reason():
    features = (
        "checkConstraints",
        "deletionVectors",
        "appendOnly",
        "columnMapping",
        "inCommitTimestamp",
        "typeWidening",
    )
    off = {
        "delta.columnMapping.mode": "none",
        "delta.enableInCommitTimestamps": "false",
        "delta.checkpointPolicy": "classic",
    }
    assert refused(7, features, off, schema()) == []
    assert not maps_columns(off)


def test_nested_fields_are_looked_at():
    inner = {"type": "struct", "fields": [{"name": "b", "type": "long", "metadata": {"delta.invariants": "{}"}}]}
    found = {
        "type": "struct",
        "fields": [{"name": "a", "type": {"type": "array", "elementType": inner}, "metadata": {}}],
    }
    assert len(refused(2, (), {}, json.dumps(found))) == 1
