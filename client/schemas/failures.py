"""What goes wrong with a schema or a schema registry, and whose fault it is: the record's, the schema's, or nobody's.

A record that is bad is bad for good. A registry that does not respond says nothing about a record: it stays where it is, and is read again.
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
