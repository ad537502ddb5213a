"""What goes wrong: a bad record, a schema that is unknown or refused, a registry that does not respond.

A bad record stays bad. A registry that does not respond says nothing about a record: the record stays where it is, and is read again.
"""

from __future__ import annotations

from headrace.client.failures import SerializerUnavailable
from headrace.errors import HeadraceError


class BadRecord(HeadraceError):
    """A record that does not decode, with the reason."""


class UnknownSchema(HeadraceError):
    """The registry responds, and has no such id, subject, version or schema."""


class SchemaRefused(HeadraceError):
    """The registry refused to register a schema: it is invalid, or not compatible with earlier versions of its subject."""


class RegistryUnavailable(SerializerUnavailable):
    """The schema registry did not respond, or not as one."""


def needs(package: str, extra: str, failure: ImportError) -> ImportError:
    """The error for a format whose package is not installed."""
    return ImportError(f"decoding {extra} needs the package {package}: pip install 'headrace[{extra}]' ({failure})")
