"""Encoders of ConsumerGroupDescribeResponse, v0.

Made by `make codec` from protocol/schema/69_consumer_group_describe.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
pack_iiB = Struct(">iiB").pack
pack_ix = Struct(">ix").pack
pack_x = Struct(">x").pack
pack_xB = Struct(">xB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, groups = msg
    # groups
    n = len(groups) + 1
    if n < 128:
        # throttle_time_ms to groups
        put(pack_iB(throttle_time_ms, n))
    # groups
    else:
        # throttle_time_ms to groups
        put(pack_i(throttle_time_ms))
        # groups
        put(encode_uvarint(n))
    for (
        error_code,
        error_message,
        group_id,
        group_state,
        group_epoch,
        assignment_epoch,
        assignor_name,
        members,
        authorized_operations,
    ) in groups:
        # groups.error_code to groups.error_message
        put(pack_h(error_code))
        # groups.error_message
        if error_message is None:
            put(b"\x00")
        else:
            text = error_message.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # groups.group_id
        text = group_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.group_state
        text = group_state.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.assignor_name
        text = assignor_name.encode()
        n = len(text) + 1
        if n < 128:
            # groups.group_epoch to groups.assignor_name
            put(pack_iiB(group_epoch, assignment_epoch, n))
        # groups.assignor_name
        else:
            # groups.group_epoch to groups.assignor_name
            put(pack_ii(group_epoch, assignment_epoch))
            # groups.assignor_name
            put(encode_string_length(n))
        put(text)
        # groups.members
        n = len(members) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for (
            member_id,
            instance_id,
            rack_id,
            member_epoch,
            client_id,
            client_host,
            subscribed_topic_names,
            subscribed_topic_regex,
            assignment,
            target_assignment,
        ) in members:
            # groups.members.member_id
            text = member_id.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # groups.members.instance_id
            if instance_id is None:
                put(b"\x00")
            else:
                text = instance_id.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # groups.members.rack_id
            if rack_id is None:
                put(b"\x00")
            else:
                text = rack_id.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # groups.members.client_id
            text = client_id.encode()
            n = len(text) + 1
            if n < 128:
                # groups.members.member_epoch to groups.members.client_id
                put(pack_iB(member_epoch, n))
            # groups.members.client_id
            else:
                # groups.members.member_epoch to groups.members.client_id
                put(pack_i(member_epoch))
                # groups.members.client_id
                put(encode_string_length(n))
            put(text)
            # groups.members.client_host
            text = client_host.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # groups.members.subscribed_topic_names
            n = len(subscribed_topic_names) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for one in subscribed_topic_names:
                text = one.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # groups.members.subscribed_topic_regex
            if subscribed_topic_regex is None:
                put(b"\x00")
            else:
                text = subscribed_topic_regex.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # groups.members.assignment
            (topic_partitions,) = assignment
            # groups.members.assignment.topic_partitions
            n = len(topic_partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for topic_id, topic_name, partitions in topic_partitions:
                # groups.members.assignment.topic_partitions.topic_name
                text = topic_name.encode()
                n = len(text) + 1
                if n < 128:
                    # groups.members.assignment.topic_partitions.topic_id to groups.members.assignment.topic_partitions.topic_name
                    put(pack_16sB(topic_id, n))
                # groups.members.assignment.topic_partitions.topic_name
                else:
                    # groups.members.assignment.topic_partitions.topic_id to groups.members.assignment.topic_partitions.topic_name
                    put(pack_16s(topic_id))
                    # groups.members.assignment.topic_partitions.topic_name
                    put(encode_string_length(n))
                put(text)
                # groups.members.assignment.topic_partitions.partitions
                n = len(partitions) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                put(pack(f">{len(partitions)}i", *partitions))
                # groups.members.assignment.topic_partitions
                put(b"\x00")
            # groups.members.target_assignment
            (topic_partitions_2,) = target_assignment
            # groups.members.target_assignment.topic_partitions
            n = len(topic_partitions_2) + 1
            if n < 128:
                # groups.members.assignment to groups.members.target_assignment.topic_partitions
                put(pack_xB(n))
            # groups.members.target_assignment.topic_partitions
            else:
                # groups.members.assignment to groups.members.target_assignment.topic_partitions
                put(pack_x())
                # groups.members.target_assignment.topic_partitions
                put(encode_uvarint(n))
            for topic_id_2, topic_name_2, partitions_2 in topic_partitions_2:
                # groups.members.target_assignment.topic_partitions.topic_name
                text = topic_name_2.encode()
                n = len(text) + 1
                if n < 128:
                    # groups.members.target_assignment.topic_partitions.topic_id to groups.members.target_assignment.topic_partitions.topic_name
                    put(pack_16sB(topic_id_2, n))
                # groups.members.target_assignment.topic_partitions.topic_name
                else:
                    # groups.members.target_assignment.topic_partitions.topic_id to groups.members.target_assignment.topic_partitions.topic_name
                    put(pack_16s(topic_id_2))
                    # groups.members.target_assignment.topic_partitions.topic_name
                    put(encode_string_length(n))
                put(text)
                # groups.members.target_assignment.topic_partitions.partitions
                n = len(partitions_2) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                put(pack(f">{len(partitions_2)}i", *partitions_2))
                # groups.members.target_assignment.topic_partitions
                put(b"\x00")
            # groups.members
            put(b"\x00\x00")
        # groups.authorized_operations to groups
        put(pack_ix(authorized_operations))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
26 218 the message
31 36 40 groups
34 38 throttle_time_ms to groups
53 groups.error_code to groups.error_message
55 groups.error_message
63 groups.group_id
68 groups.group_state
73 79 83 groups.assignor_name
77 81 groups.group_epoch to groups.assignor_name
86 214 groups.members
101 groups.members.member_id
106 groups.members.instance_id
114 groups.members.rack_id
122 128 132 groups.members.client_id
126 130 groups.members.member_epoch to groups.members.client_id
135 groups.members.client_host
140 groups.members.subscribed_topic_names
148 groups.members.subscribed_topic_regex
156 groups.members.assignment
158 179 groups.members.assignment.topic_partitions
162 168 172 groups.members.assignment.topic_partitions.topic_name
166 170 groups.members.assignment.topic_partitions.topic_id to groups.members.assignment.topic_partitions.topic_name
175 groups.members.assignment.topic_partitions.partitions
181 groups.members.target_assignment
183 188 192 212 groups.members.target_assignment.topic_partitions
186 190 groups.members.assignment to groups.members.target_assignment.topic_partitions
195 201 205 groups.members.target_assignment.topic_partitions.topic_name
199 203 groups.members.target_assignment.topic_partitions.topic_id to groups.members.target_assignment.topic_partitions.topic_name
208 groups.members.target_assignment.topic_partitions.partitions
216 groups.authorized_operations to groups
"""
