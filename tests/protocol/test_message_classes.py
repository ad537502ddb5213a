"""The named tuples of the messages: attributes of a package that imports them on first use."""

import pickle
import subprocess
import sys

import pytest

from headrace.protocol import messages
from tools.codec.field_tables import load_message, message_names


def test_a_message_is_an_attribute_and_its_structs_are_attributes_of_it():
    assert messages.FetchRequest is messages.class_of("FetchRequest")
    partition = messages.FetchRequest.FetchPartition(partition=3)
    assert (partition.partition, partition.current_leader_epoch, partition.fetch_offset) == (3, -1, 0)


@pytest.mark.parametrize("name", message_names())
def test_every_field_has_a_default_that_nobody_can_change(name):
    root = messages.class_of(name)
    structs = [one for one in vars(root).values() if isinstance(one, type) and issubclass(one, tuple)]
    for tuple_class in (root, *structs):
        hash(tuple_class())  # a list in it would be shared


def test_defaults_are_those_of_the_schema():
    request = messages.FetchRequest()
    assert (request.max_bytes, request.session_epoch, request.rack_id, request.cluster_id) == (2**31 - 1, -1, "", None)
    assert messages.FetchResponse.PartitionData().current_leader == (-1, -1)
    assert messages.MetadataRequest().allow_auto_topic_creation is True
    assert messages.MetadataResponse.MetadataResponseTopic().topic_id == bytes(16)


@pytest.mark.parametrize("name", message_names())
def test_a_message_is_pickled_by_its_name(name):
    root = messages.class_of(name)
    structs = [getattr(root, struct) for struct in load_message(name).structs]
    for tuple_class in (root, *structs):
        found = pickle.loads(pickle.dumps(tuple_class()))
        assert found == tuple_class()
        assert type(found) is tuple_class


def test_a_message_takes_no_more_than_a_tuple():
    for name in message_names():
        root = messages.class_of(name)
        for tuple_class in (root, *(getattr(root, struct) for struct in load_message(name).structs)):
            assert tuple_class.__dictoffset__ == 0


@pytest.mark.process
def test_a_process_has_the_modules_of_the_messages_that_it_uses():
    program = (
        "import sys\n"
        "from headrace.protocol import codec, messages\n"
        "codec.encode_response(18, 3, messages.ApiVersionsResponse())\n"
        "folders = ('messages', 'decoders', 'encoders')\n"
        "print(*sorted(one for one in sys.modules if one.startswith(tuple(f'headrace.protocol.{f}.' for f in folders))))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "headrace.protocol.encoders.api_versions_response",
        "headrace.protocol.messages.api_versions_response",
    ]


def test_an_unknown_message_is_no_attribute():
    with pytest.raises(AttributeError, match="no message Nothing"):
        messages.Nothing  # noqa: B018
    assert not hasattr(messages, "__wrapped__")
