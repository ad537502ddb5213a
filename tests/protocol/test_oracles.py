"""Our bytes are those of kio and of kafka-python: every API and version they share with us, values of every kind.

Each oracle reads what we wrote, and writes it again; the bytes have to be ours, and the fields it found have to
be called what we call them and hold what we put in.
"""

import dataclasses
import datetime
import enum
import importlib
import io
import pkgutil
import re
import uuid

import kafka.protocol
import pytest
from kafka.protocol.api_header import RequestHeader, ResponseHeader
from kafka.protocol.api_message import ApiMessage
from kio.serial import entity_reader, entity_writer

from headrace.protocol import codec, messages
from headrace.protocol.apis import ApiKey, request_header_version, response_header_version
from headrace.protocol.frames import build_request, parse_request_header, parse_response_header
from tests.support import message_generator as generator
from tools.codec.field_tables import load_message, message_names

SEEDS = range(6)
HEADERS_OF_KIO = {"RequestHeader": "header", "ResponseHeader": "header"}
DATA_OF_KIO = {"ConsumerProtocolSubscription": "data", "ConsumerProtocolAssignment": "data"}
BIT_FIELDS_OF_KAFKA_PYTHON = {"authorized_operations"}
WITHOUT_ORACLE = {name for name in message_names() if name.endswith(("Key", "Value"))}  # records of internal topics


def versions_of(name):
    schema = load_message(name)
    return range(schema.versions.low, schema.versions.high + 1)


def generated(name, version):
    """(seed, message): with and without nulls, with and without tagged fields."""
    for seed in SEEDS:
        chooser = generator.MessageGenerator(seed, with_nulls=seed % 2 == 0, with_tags=seed % 3 != 0)
        yield seed, chooser.message(name, version)


# kio


def kio_class(name, version):
    match = re.fullmatch(r"(.+)(Request|Response)", name)
    file = HEADERS_OF_KIO.get(name) or DATA_OF_KIO.get(name) or match[2].lower()
    package = name if file in ("header", "data") else match[1]
    package = re.sub(r"(?<!^)(?=[A-Z])", "_", package).lower()
    return getattr(importlib.import_module(f"kio.schema.{package}.v{version}.{file}"), name)


@pytest.mark.parametrize("name", sorted(set(message_names()) - WITHOUT_ORACLE))
def test_kio_reads_and_writes_the_same_bytes(name):
    for version in versions_of(name):
        entity = kio_class(name, version)
        read, write = entity_reader(entity), entity_writer(entity)
        for seed, message in generated(name, version):
            message = tame(message)
            ours = codec.encode_struct(name, version, message)
            found, size = read(memoryview(ours), 0)
            buffer = io.BytesIO()
            write(buffer, found)
            assert size == len(ours), (name, version, seed)
            assert buffer.getvalue() == ours, (name, version, seed)
            assert_names_are_kio_s(message, found)


def tame(message):
    """Values that kio's narrower types can hold: error codes that exist, durations and times that aren't negative."""
    if isinstance(message, tuple) and hasattr(message, "_fields"):
        changed = {}
        for field, value in zip(message._fields, message, strict=True):
            if isinstance(value, int) and not isinstance(value, bool):
                if "error_code" in field:
                    value = abs(value) % 100
                elif "_ms" in field or "timestamp" in field or field.endswith("_time"):
                    value = abs(value) % 2**31
            changed[field] = tame(value)
        return message._replace(**changed)
    if isinstance(message, (list, tuple)):
        return [tame(one) for one in message]
    return message


def assert_names_are_kio_s(message, entity):
    """Every field of theirs is one of ours by name, and where it is a plain number or text, by value."""
    for field in dataclasses.fields(entity):
        theirs = getattr(entity, field.name)
        name = field.name.rstrip("_").replace("k_raft", "kraft")
        name = name if name in message._fields else f"{name}_ms"
        ours = getattr(message, name)
        if isinstance(theirs, enum.Enum | datetime.timedelta | datetime.datetime | uuid.UUID):
            continue
        if isinstance(theirs, tuple) and ours is not None:
            assert len(ours) == len(theirs)
            for one, other in zip(ours, theirs, strict=True):
                if dataclasses.is_dataclass(other):
                    assert_names_are_kio_s(one, other)
        elif dataclasses.is_dataclass(theirs):
            assert_names_are_kio_s(ours, theirs)
        elif isinstance(theirs, int | str | bytes):
            assert ours == theirs, name


# kafka-python


def kafka_python_classes():
    """Every message of it, by name."""
    for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if ".old" not in module.name and "generate" not in module.name:
            importlib.import_module(module.name)
    return {found.__name__: found for found in type.__subclasses__(ApiMessage)}


KAFKA_PYTHON = kafka_python_classes()
SHARED = sorted(set(KAFKA_PYTHON) & set(message_names()))


def test_kafka_python_has_the_apis_of_clients():
    assert len(SHARED) > 90
    assert {"ProduceRequest", "FetchResponse", "MetadataResponse", "ApiVersionsResponse", "JoinGroupRequest"} <= set(
        SHARED
    )


@pytest.mark.parametrize("name", SHARED)
def test_kafka_python_reads_and_writes_the_same_bytes(name):
    foreign = KAFKA_PYTHON[name]
    versions = [version for version in versions_of(name) if foreign.min_version <= version <= foreign.max_version]
    assert versions
    for version in versions:
        for seed, message in generated(name, version):
            if name == "ApiVersionsResponse":
                message = message._replace(error_code=0)  # kafka-python reads refusals as v0, whatever the version
            ours = codec.encode_struct(name, version, message)
            theirs = foreign.decode(ours, version=version)
            theirs._header = None
            assert bytes(theirs.encode(version=version)) == ours, (name, version, seed)
            assert_names_are_kafka_python_s(message, theirs)


def assert_names_are_kafka_python_s(message, theirs):
    for name in set(theirs.to_dict()) - BIT_FIELDS_OF_KAFKA_PYTHON:
        assert_same_value(getattr(message, name), getattr(theirs, name), name)


def assert_same_value(ours, theirs, name):
    if isinstance(theirs, list | tuple) and ours is not None:
        assert len(ours) == len(theirs), name
        for one, other in zip(ours, theirs, strict=True):
            assert_same_value(one, other, name)
    elif hasattr(theirs, "to_dict"):
        assert_names_are_kafka_python_s(ours, theirs)
    elif isinstance(theirs, uuid.UUID):
        assert ours == theirs.bytes, name
    elif isinstance(theirs, int | str | bytes):
        assert ours == theirs, name


# Frames


@pytest.mark.parametrize("name", [name for name in SHARED if name.endswith("Request")])
def test_kafka_python_writes_the_same_request_frames(name):
    foreign = KAFKA_PYTHON[name]
    for version in versions_of(name):
        if version > foreign.max_version:
            continue
        message = generator.MessageGenerator(version, with_tags=False).message(name, version)
        ours = build_request(foreign.API_KEY, version, 2**31 - 1, "klient-ä", message)
        theirs = foreign.decode(codec.encode_struct(name, version, message), version=version)
        theirs.with_header(correlation_id=2**31 - 1, client_id="klient-ä")
        assert bytes(theirs.encode(version=version, header=True, framed=True)) == ours, (name, version)
        header = parse_request_header(memoryview(ours)[4:])
        assert header[:4] == (foreign.API_KEY, version, 2**31 - 1, "klient-ä")
        assert bytes(memoryview(ours)[4:][header.body_position :]) == codec.encode_struct(name, version, message)


@pytest.mark.parametrize("name", [name for name in SHARED if name.endswith("Response")])
def test_kafka_python_writes_the_same_response_headers(name):
    foreign = KAFKA_PYTHON[name]
    for version in versions_of(name):
        if version > foreign.max_version:
            continue
        theirs = foreign(version=version)
        theirs.with_header(correlation_id=77)
        flexible = foreign.flexible_version_q(version)
        header = bytes(theirs.encode_header(flexible=flexible))
        assert parse_response_header(memoryview(header), foreign.API_KEY, version) == (77, len(header))
        ours = codec.encode_struct(
            "ResponseHeader", response_header_version(foreign.API_KEY, version), messages.ResponseHeader(77)
        )
        assert ours == header, (name, version)


@pytest.mark.parametrize("key", list(ApiKey), ids=str)
def test_kio_has_the_same_header_versions(key):
    for response in (False, True):
        name = f"{key.api_name}{'Response' if response else 'Request'}"
        of_version = response_header_version if response else request_header_version
        for version in versions_of(name):
            assert of_version(key, version) == kio_class(name, version).__header_schema__.__version__, (name, version)


def test_the_headers_of_kafka_python_are_those_of_the_schema():
    for flexible in (False, True):
        theirs = RequestHeader(request_api_key=18, request_api_version=3, correlation_id=5, client_id="me")
        ours = messages.RequestHeader(18, 3, 5, "me")
        assert bytes(theirs.encode(flexible=flexible)) == codec.encode_struct("RequestHeader", 1 + flexible, ours)
        theirs = ResponseHeader(correlation_id=5)
        assert bytes(theirs.encode(flexible=flexible)) == codec.encode_struct(
            "ResponseHeader", int(flexible), messages.ResponseHeader(5)
        )
