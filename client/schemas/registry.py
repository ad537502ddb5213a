"""The way in to a schema registry: `Registry(url)`, and from it serializers in Confluent's wire format.

    registry = Registry("http://registry:8081")
    kafka.producer(key=Str(), value=registry.avro(SCHEMA, Order))
    kafka.consumer("orders", value=registry.protobuf(Order))

By default a schema is registered when its first record is sent, as Confluent's serializers do. With `auto_register=False` it has to be
there. With `use_latest=True` records are written by the latest schema of the subject, which is asked for again every LATEST_KEPT_S.

Source: Confluent's serializers: auto.register.schemas, use.latest.version, subject.name.strategy.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, TypeVar, overload

from headrace.client.schemas.json_form import JsonForm
from headrace.client.schemas.registered import Registered, Writing
from headrace.client.schemas.schema_registry import (
    TIMEOUT_S,
    RegisteredSchema,
    SchemaRegistry,
    basic_authorization,
    registry_at,
)
from headrace.client.schemas.subjects import SubjectNameStrategy, check_strategy

T = TypeVar("T")


class Registry:
    """A schema registry by its URL. Makes no connection itself; any threads, clients and loops may share it.

    url                     http:// or https://; user:password@ in it are credentials, and never shown
    auth                    (user, password), in place of those
    token                   of a bearer, in place of both
    ssl_context             None: the system's certificates
    timeout_s               of one request, which is repeated where the registry does not respond
    auto_register           whether a schema that its subject does not have is registered
    use_latest              whether records are written by the latest schema of their subject
    subject_name_strategy   TopicNameStrategy: orders-value; RecordNameStrategy: shop.Order; TopicRecordNameStrategy: orders-shop.Order
    raises                  ValueError, which names key, value and reason
    """

    def __init__(
        self,
        url: str,
        *,
        auth: tuple[str, str] | None = None,
        token: str | None = None,
        ssl_context: ssl.SSLContext | None = None,
        timeout_s: float = TIMEOUT_S,
        auto_register: bool = True,
        use_latest: bool = False,
        subject_name_strategy: SubjectNameStrategy = "TopicNameStrategy",
    ) -> None:
        if sum((auth is not None, token is not None, "@" in url)) > 1:
            raise ValueError("credentials: give them in the URL, or auth, or token")
        if not timeout_s > 0:
            raise ValueError(f"timeout_s: {timeout_s!r}: expected seconds above 0")
        check_strategy(subject_name_strategy)
        authorization = basic_authorization(*auth) if auth else f"Bearer {token}" if token else ""
        self._registry = registry_at(url, authorization, ssl_context, timeout_s)
        self._writing = Writing(auto_register and not use_latest, use_latest, subject_name_strategy)

    def __repr__(self) -> str:
        return f"Registry({self._registry.shown!r})"

    @property
    def schemas(self) -> SchemaRegistry:
        """The registry itself: `latest`, `schema`, `register`, `lookup`."""
        return self._registry

    @overload
    def avro(self, schema: str | Mapping[str, Any] | None = None, *, subject: str | None = None) -> Registered[Any]: ...

    @overload
    def avro(
        self, schema: str | Mapping[str, Any] | None, kind: type[T], *, subject: str | None = None
    ) -> Registered[T]: ...

    def avro(
        self, schema: str | Mapping[str, Any] | None = None, kind: Any = None, *, subject: str | None = None
    ) -> Registered[Any]:
        """Avro records.

        schema    what records are written with, and resolved to when they are read; None: read by the schema that each was written with
        kind      what records are: a dataclass, a Struct, a TypedDict; None: dicts
        subject   None: by the strategy
        raises    ValueError; ImportError, if fastavro is not installed
        """
        from headrace.client.schemas.avro import AvroForm

        form: AvroForm[Any] = AvroForm(schema, kind)
        return Registered(self._registry, form, self._writing, subject)

    def protobuf(self, message: type[T], *, subject: str | None = None) -> Registered[T]:
        """Messages of a generated class. raises TypeError, where it is none; ImportError, if protobuf is not installed"""
        from headrace.client.schemas.protobuf import ProtobufForm

        return Registered(self._registry, ProtobufForm(message), self._writing, subject)

    @overload
    def json(
        self, kind: type[T], *, schema: str | Mapping[str, Any] | None = None, subject: str | None = None
    ) -> Registered[T]: ...

    @overload
    def json(
        self, kind: Any, *, schema: str | Mapping[str, Any] | None = None, subject: str | None = None
    ) -> Registered[Any]: ...

    def json(
        self, kind: Any, *, schema: str | Mapping[str, Any] | None = None, subject: str | None = None
    ) -> Registered[Any]:
        """JSON of a Struct, a dataclass or a TypedDict, whose schema is registered.

        schema   JSON schema in place of the type's own
        raises   ValueError, TypeError
        """
        form: JsonForm[Any] = JsonForm(kind, schema)
        return Registered(self._registry, form, self._writing, subject)


__all__ = ["RegisteredSchema", "Registry"]
