"""The named tuples made from the schema.

Holds: protocol/messages.py
"""

import pytest

from headrace.protocol import messages
from headrace.protocol.field_tables import message_names


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


def test_an_unknown_message_is_no_attribute():
    with pytest.raises(AttributeError, match="no message Nothing"):
        messages.Nothing  # noqa: B018
    assert not hasattr(messages, "__wrapped__")
