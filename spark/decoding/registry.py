"""The registry's part among the options of a decoder: what is refused, whose schema is read.

Runs in: Spark's driver. The registry itself: `client/schemas/schema_registry.py`, which clients share.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.client.schemas.failures import UnknownSchema
from headrace.client.schemas.schema_registry import RegisteredSchema, SchemaRegistry


def latest_of(registry: SchemaRegistry, subject: str, kind: str) -> RegisteredSchema:
    """raises   ValueError, for an unknown subject; RegistryUnavailable"""
    try:
        return registry.latest(subject, kind)
    except UnknownSchema as failure:
        raise ValueError(f"subject {subject!r}: {failure}") from None


def check_target(given: Sequence[object], registry: str | None, subject: str | None, schema: str) -> None:
    """Refuse combinations of a schema, a registry and a subject that make no sense. raises ValueError"""
    has_schema = any(one is not None for one in given)
    if subject is not None and registry is None:
        raise ValueError(f"subject {subject!r} needs a registry")
    if registry is None and not has_schema:
        raise ValueError(f"give {schema}, or registry and subject")
    if registry is not None and has_schema == (subject is not None):
        raise ValueError(f"with a registry give either subject, whose latest schema is read, or {schema}")
