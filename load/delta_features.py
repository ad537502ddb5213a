"""What a Delta table asks of a program that writes to it, or reads it, and a load does not do: each by name, with what the owner can do.

A table names features in its protocol, or a version that stands for some. Many of them ask for something only where the table uses them:
a table that has no constraint any more, still of a version that has constraints, is one that a load may write to.

    feature                          what a load does
    appendOnly, changeDataFeed       nothing: it adds files, and readers take changes from the files
    deletionVectors                  it reads them, and writes none
    checkConstraints, ...            refuses the table while it uses them
    rowTracking, any other           refuses the table

Pure.

Source: the Delta transaction log protocol: writer version requirements, table features.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Configuration = Mapping[str, str]
Fields = Iterable[Mapping[str, Any]]
DELETION_VECTORS = "deletionVectors"
COLUMN_MAPPING = "columnMapping"
TABLE_FEATURES_VERSION = 7
ALWAYS_FINE = {
    "appendOnly", "changeDataFeed", DELETION_VECTORS, "timestampNtz", "domainMetadata", "vacuumProtocolCheck",
    "allowColumnDefaults",
}  # fmt: skip
OF_VERSION = {
    1: (),
    2: ("appendOnly", "invariants"),
    3: ("checkConstraints",),
    4: ("changeDataFeed", "generatedColumns"),
    5: (COLUMN_MAPPING,),
    6: ("identityColumns",),
}
assert max(OF_VERSION) < TABLE_FEATURES_VERSION


@dataclass(frozen=True, slots=True)
class _Use:
    """Whether a table uses a feature that it has, and how it stops."""

    is_used: Callable[[Configuration, Fields], bool]
    remedy: str


def _key(prefix: str, unless: str = "") -> Callable[[Configuration, Fields], bool]:
    return lambda configuration, _fields: any(
        key.lower().startswith(prefix.lower()) and value.lower() not in ("false", unless)
        for key, value in configuration.items()
    )


def _field(key: str) -> Callable[[Configuration, Fields], bool]:
    return lambda _configuration, fields: any(key in (field.get("metadata") or {}) for field in fields)


_DROP = "ALTER TABLE ... DROP FEATURE {} TRUNCATE HISTORY"
_USES: dict[str, _Use] = {
    "invariants": _Use(_field("delta.invariants"), "remove the invariant from the column"),
    "checkConstraints": _Use(_key("delta.constraints."), "ALTER TABLE ... DROP CONSTRAINT, for each of them"),
    "generatedColumns": _Use(_field("delta.generationExpression"), "drop the generated column"),
    "identityColumns": _Use(_field("delta.identity.start"), "drop the identity column"),
    COLUMN_MAPPING: _Use(_key("delta.columnMapping.mode", unless="none"), _DROP.format(COLUMN_MAPPING)),
    "v2Checkpoint": _Use(
        _key("delta.checkpointPolicy", unless="classic"), "SET TBLPROPERTIES ('delta.checkpointPolicy' = 'classic')"
    ),
    "inCommitTimestamp": _Use(
        _key("delta.enableInCommitTimestamps"), "SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'false')"
    ),
    "typeWidening": _Use(_field("delta.typeChanges"), _DROP.format("typeWidening")),
}


def refused(writer_version: int, features: Iterable[str], configuration: Configuration, schema_json: str) -> list[str]:
    """What the table uses that a load does not do: feature and remedy. Empty: a load may write to it.

    features      of writers, of a table whose version names them
    schema_json   its schema as the log has it
    """
    if writer_version > TABLE_FEATURES_VERSION or writer_version < 1:
        return [f"writer version {writer_version} (a later version of headrace may know it)"]
    names = set(features)
    for version in (
        range(1, min(writer_version, max(OF_VERSION)) + 1) if writer_version != TABLE_FEATURES_VERSION else ()
    ):
        names.update(OF_VERSION[version])
    fields = _fields(json.loads(schema_json))
    found = []
    for name in sorted(names - ALWAYS_FINE):
        use = _USES.get(name)
        if use is None:
            found.append(f"{name} ({_DROP.format(name)})")
        elif use.is_used(configuration, fields):
            found.append(f"{name} ({use.remedy})")
    return found


def maps_columns(configuration: Configuration) -> bool:
    """Whether files have other names of columns than the table."""
    return _USES[COLUMN_MAPPING].is_used(configuration, ())


def _fields(kind: Any) -> list[Mapping[str, Any]]:
    """All fields of a schema, nested ones too."""
    found: list[Mapping[str, Any]] = []
    if isinstance(kind, dict):
        for field in kind.get("fields", ()):
            found += [field, *_fields(field["type"])]
        for key in ("elementType", "keyType", "valueType"):
            found += _fields(kind.get(key))
    return found
