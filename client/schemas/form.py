"""What a registry needs to know of a format: the schema to register, and how values are written and read by registered ones.

Avro      a writer's schema is resolved to the reader's
Protobuf  the message that a record names is the one that is read
JSON      the type checks what it decodes; the registry is not asked
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from headrace.client.schemas.schema_registry import RegisteredSchema

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Import:
    """A schema that another one imports: it is registered first, under its name.

    name      in the import, and of its subject
    imports   of its own
    """

    name: str
    text: str
    imports: tuple[Import, ...] = ()


class Form(Protocol[T]):
    """A format with a schema of its own.

    kind            AVRO, PROTOBUF or JSON
    text            the schema as it is registered; None: there is none, only registered ones are used
    name            full name of the record; '': it has none
    imports         what the schema needs
    asks_to_read    whether it takes the schema of an id to read
    """

    @property
    def kind(self) -> str: ...

    @property
    def text(self) -> str | None: ...

    @property
    def name(self) -> str: ...

    @property
    def imports(self) -> tuple[Import, ...]: ...

    @property
    def asks_to_read(self) -> bool: ...

    def writer(self, schema_id: int, schema: RegisteredSchema | None, /) -> Callable[[T], bytes]:
        """What writes a value with its header, by a registered schema, or by its own. It raises ValueError, TypeError"""

    def reader(self, schema: RegisteredSchema | None, /) -> Callable[[bytes], T]:
        """What reads a record with its header. It raises BadRecord"""
