"""The classes of messages as type checkers see them: what the schema says, as types."""

import ast
import importlib

import pytest

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.message_table import MESSAGES
from tools.codec import message_source
from tools.codec.field_tables import SCHEMA, load_message, message_names, parse_field
from tools.codec.files import api_keys
from tools.codec.message_source import field_type, module_of

FOLDER = SCHEMA.parent


def classes_of(name):
    """Class of a message's file by its name."""
    tree = ast.parse((FOLDER / "messages" / f"{module_of(name)}.py").read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def fields_of(classes, name):
    """Field -> annotation, of a class or of the named tuple under it."""
    node = classes.get(f"_{name}", classes[name])
    assert [ast.unparse(base) for base in node.bases] == ["NamedTuple"]
    return {part.target.id: ast.unparse(part.annotation) for part in node.body if isinstance(part, ast.AnnAssign)}


@pytest.mark.parametrize("name", message_names())
def test_every_message_and_struct_has_the_fields_of_the_schema(name):
    schema, classes = load_message(name), classes_of(name)
    for struct in (schema.root, *schema.structs.values()):
        assert fields_of(classes, struct.name) == {field.name: field_type(field) for field in struct.fields}
    for struct in schema.structs:
        assert getattr(messages.class_of(name), struct).__name__ == struct


@pytest.mark.parametrize(
    ("line", "annotation"),
    [
        ("index int32 0+", "int"),
        ("ratio float64 0+", "float"),
        ("is_internal bool 1+ = false", "bool"),
        ("topic_id uuid 10+", "bytes"),
        ("rack string 1+ null 1+ = null", "str | None"),
        ("name string 0+ null 10+", "str | None"),
        ("replica_nodes []int32 0+", "Sequence[int]"),
        ("topics []Topic 0+ null 1+", "Sequence[Topic] | None"),
        ("leader Leader 12+ tag 1 12+", "Leader"),
        ("records records 0+", "memoryview | None"),
    ],
)
def test_a_field_has_the_type_of_its_line(line, annotation):
    assert field_type(parse_field(line)) == annotation


def test_records_are_written_from_anything_with_a_length():
    classes = classes_of("ProduceRequest")
    assert fields_of(classes, "PartitionProduceData")["records"] == "memoryview | None"
    makers = [node for node in ast.walk(classes["PartitionProduceData"]) if isinstance(node, ast.FunctionDef)]
    assert [maker.name for maker in makers] == ["__new__", "_replace"]
    for maker in makers:
        assert "records: Sized | None=..." in ast.unparse(maker)


def test_a_request_names_what_answers_it():
    for key in ApiKey:
        (method,) = [
            node
            for node in ast.walk(classes_of(f"{key.api_name}Request")[f"{key.api_name}Request"])
            if isinstance(node, ast.FunctionDef) and node.name == "_answer_"
        ]
        assert ast.unparse(method.returns) == f"{key.api_name}Response"


def test_the_table_has_every_message_with_its_versions():
    assert list(MESSAGES) == message_names()
    for name, (module, low, high, first_flexible) in MESSAGES.items():
        schema = load_message(name)
        assert (module, low, high) == (module_of(name), schema.versions.low, schema.versions.high)
        for version in range(low, high + 1):
            assert (first_flexible is not None and version >= first_flexible) == (version in schema.flexible)


def test_every_version_has_a_function_for_each_direction():
    for name, (module, low, high, _flexible) in MESSAGES.items():
        for folder, table in (("decoders", "DECODERS"), ("encoders", "ENCODERS")):
            found = getattr(importlib.import_module(f"headrace.protocol.{folder}.{module}"), table)
            assert list(found) == list(range(low, high + 1)), name


def test_decoding_has_an_overload_for_each_api_and_each_struct():
    text = (FOLDER / "decoders" / "signatures.py").read_text()
    calls = [ast.unparse(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    for key in ApiKey:
        literal = f"api_key: Literal[ApiKey.{key.name}]"
        for body, suffix in (("memoryview", "Request"), ("Buffer", "Response")):
            signature = f"(self, {literal}, version: int, body: {body}) -> messages.{key.api_name}{suffix}:"
            assert any(signature in call for call in calls)
    for name in message_names():
        assert any(f"name: Literal['{name}']" in call and f"-> messages.{name}:" in call for call in calls)


def test_the_keys_of_the_schema_are_those_of_the_table_of_apis():
    assert api_keys() == {key.name: key.api_name for key in ApiKey}


@pytest.mark.parametrize(
    ("name", "module"), [("FetchRequest", "fetch_request"), ("LeaderAndIsrRequest", "leader_and_isr_request")]
)
def test_a_module_is_named_for_its_message(name, module):
    assert module_of(name) == module


def test_defaults_as_source():
    assert message_source.written_default(message_source.default_of(parse_field("a Leader 0+"))) == "Leader()"
    assert message_source.written_default(message_source.default_of(parse_field("a uuid 0+"))) == "ZERO_UUID"
    assert message_source.written_default(message_source.default_of(parse_field("a []uuid 0+"))) == "()"
    assert (
        message_source.written_default(message_source.default_of(parse_field("a int32 0+ = 0x7fffffff")))
        == "2147483647"
    )
