"""The stubs of messages and codec: what the schema says, as types."""

import ast
import typing
from pathlib import Path

import pytest

from headrace.protocol import codec, messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.field_tables import load_message, message_names, parse_field
from headrace.protocol.message_stubs import codec_stub, field_type, messages_stub


def source_of(module):
    return Path(module.__file__).read_text()


@pytest.fixture(scope="module")
def classes():
    """Class of the stub by its path, `FetchRequest.FetchTopic`."""
    found = {}

    def walk(body, path):
        for node in body:
            if isinstance(node, ast.ClassDef):
                found[".".join([*path, node.name])] = node
                walk(node.body, [*path, node.name])

    walk(ast.parse(messages_stub(source_of(messages))).body, [])
    return found


def fields_of(classes, path):
    """Field -> annotation, of a class or the one under it that has its fields."""
    node = classes[path]
    bases = [ast.unparse(base) for base in node.bases]
    if bases != ["NamedTuple"]:
        parent = path.rpartition(".")[0]
        node = classes[f"{parent}.{bases[0]}" if parent else bases[0]]
    return {part.target.id: ast.unparse(part.annotation) for part in node.body if isinstance(part, ast.AnnAssign)}


@pytest.mark.parametrize("name", message_names())
def test_every_message_and_struct_has_the_fields_of_its_class(classes, name):
    root = messages.class_of(name)
    assert tuple(fields_of(classes, name)) == root._fields
    for struct in load_message(name).structs:
        assert tuple(fields_of(classes, f"{name}.{struct}")) == getattr(root, struct)._fields


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
        ("topics []Topic 0+ null 1+", "Sequence[FetchRequest.Topic] | None"),
        ("leader Leader 12+ tag 1 12+", "FetchRequest.Leader"),
        ("records records 0+", "memoryview | None"),
    ],
)
def test_a_field_has_the_type_of_its_line(line, annotation):
    assert field_type(parse_field(line), "FetchRequest") == annotation


def test_records_are_written_from_anything_with_a_length(classes):
    node = classes["ProduceRequest.PartitionProduceData"]
    assert fields_of(classes, "ProduceRequest.PartitionProduceData")["records"] == "memoryview | None"
    for method in node.body:
        assert "records: Sized | None=..." in ast.unparse(method)


def test_a_request_names_what_answers_it(classes):
    for key in ApiKey:
        (method,) = [part for part in classes[f"{key.api_name}Request"].body if isinstance(part, ast.FunctionDef)]
        assert ast.unparse(method.returns) == f"{key.api_name}Response"


def test_decoding_has_an_overload_for_each_api_and_each_struct():
    text = codec_stub(source_of(codec))
    for key in ApiKey:
        literal = f"api_key: Literal[ApiKey.{key.name}]"
        assert f"decode_request({literal}, version: int, body: memoryview) -> messages.{key.api_name}Request" in text
        assert f"decode_response({literal}, version: int, body: Buffer) -> messages.{key.api_name}Response" in text
    for name in message_names():
        assert f"-> messages.{name}: ..." in text


@pytest.mark.parametrize(("module", "stub"), [(messages, messages_stub), (codec, codec_stub)])
def test_a_stub_shows_every_public_name_of_its_module(module, stub):
    shown = set()
    for node in ast.parse(stub(source_of(module))).body:
        shown |= {getattr(node, "name", "")} | {target.id for target in getattr(node, "targets", ())}
    public = {name for name in vars(module) if not name.startswith("_") and module_of(module, name) == module.__name__}
    assert public
    assert public <= shown


def module_of(module, name):
    thing = vars(module)[name]
    if typing.get_origin(thing) or isinstance(thing, bytes):
        return module.__name__
    return getattr(thing, "__module__", "")
