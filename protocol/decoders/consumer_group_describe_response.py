"""Decoders of ConsumerGroupDescribeResponse, v0.

Made by `make codec` from protocol/schema/69_consumer_group_describe.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.consumer_group_describe_response import (
    Assignment,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_iiB = Struct(">iiB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerGroupDescribeResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to groups
    throttle_time_ms, groups_count = unpack_iB(buf, pos)
    # groups
    pos += 5
    if groups_count > 127:
        groups_count, pos = read_uvarint(buf, pos - 1)
    groups_count -= 1
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 20 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 692
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.error_code to groups.error_message
        error_code, n = unpack_hB(buf, pos)
        # groups.error_message
        pos += 3
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            error_message = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # groups.group_id
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.group_state
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_state = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.group_epoch to groups.assignor_name
        group_epoch, assignment_epoch, n = unpack_iiB(buf, pos)
        # groups.assignor_name
        pos += 9
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        assignor_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.members
        members_count = buf[pos]
        pos += 1
        if members_count > 127:
            members_count, pos = read_uvarint(buf, pos - 1)
        members_count -= 1
        if members_count < 0:
            raise Malformed(f"invalid length {members_count}")
        if members_count * 16 > end - pos:
            raise Malformed(f"{members_count} elements announced, {end - pos} bytes remain")
        budget -= members_count * 1084
        if budget < 0:
            raise Malformed(f"{members_count} more would take more than {DECODED_BYTES_MAX} bytes")
        members = []
        for _ in range(members_count):
            # groups.members.member_id
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.instance_id
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                instance_id = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                instance_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # groups.members.rack_id
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                rack_id = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                rack_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # groups.members.member_epoch to groups.members.client_id
            member_epoch, n = unpack_iB(buf, pos)
            # groups.members.client_id
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.client_host
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # groups.members.subscribed_topic_names
            subscribed_topic_names_count = buf[pos]
            pos += 1
            if subscribed_topic_names_count > 127:
                subscribed_topic_names_count, pos = read_uvarint(buf, pos - 1)
            subscribed_topic_names_count -= 1
            if subscribed_topic_names_count < 0:
                raise Malformed(f"invalid length {subscribed_topic_names_count}")
            if subscribed_topic_names_count * 1 > end - pos:
                raise Malformed(f"{subscribed_topic_names_count} elements announced, {end - pos} bytes remain")
            budget -= subscribed_topic_names_count * 100
            if budget < 0:
                raise Malformed(f"{subscribed_topic_names_count} more would take more than {DECODED_BYTES_MAX} bytes")
            subscribed_topic_names = []
            for _ in range(subscribed_topic_names_count):
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    raise Malformed(f"invalid length {n}")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                one = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                subscribed_topic_names.append(one)
            # groups.members.subscribed_topic_regex
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                subscribed_topic_regex = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                subscribed_topic_regex = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # groups.members.assignment.topic_partitions
            topic_partitions_count = buf[pos]
            pos += 1
            if topic_partitions_count > 127:
                topic_partitions_count, pos = read_uvarint(buf, pos - 1)
            topic_partitions_count -= 1
            if topic_partitions_count < 0:
                raise Malformed(f"invalid length {topic_partitions_count}")
            if topic_partitions_count * 19 > end - pos:
                raise Malformed(f"{topic_partitions_count} elements announced, {end - pos} bytes remain")
            budget -= topic_partitions_count * 340
            if budget < 0:
                raise Malformed(f"{topic_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
            topic_partitions = []
            for _ in range(topic_partitions_count):
                # groups.members.assignment.topic_partitions.topic_id to groups.members.assignment.topic_partitions.topic_name
                topic_id, n = unpack_16sB(buf, pos)
                # groups.members.assignment.topic_partitions.topic_name
                pos += 17
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    raise Malformed(f"invalid length {n}")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # groups.members.assignment.topic_partitions.partitions
                partitions_count = buf[pos]
                pos += 1
                if partitions_count > 127:
                    partitions_count, pos = read_uvarint(buf, pos - 1)
                partitions_count -= 1
                if partitions_count < 0:
                    raise Malformed(f"invalid length {partitions_count}")
                if partitions_count * 4 > end - pos:
                    raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
                budget -= partitions_count * 52
                if budget < 0:
                    raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
                partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
                pos += partitions_count * 4
                # groups.members.assignment.topic_partitions.tags
                n = buf[pos]
                pos += 1
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # groups.members.assignment.topic_partitions
                topic_partitions.append(new(TopicPartitions, (topic_id, topic_name, partitions)))
            # groups.members.assignment.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # groups.members.assignment
            assignment = new(Assignment, (topic_partitions,))
            # groups.members.target_assignment.topic_partitions
            topic_partitions_count_2 = buf[pos]
            pos += 1
            if topic_partitions_count_2 > 127:
                topic_partitions_count_2, pos = read_uvarint(buf, pos - 1)
            topic_partitions_count_2 -= 1
            if topic_partitions_count_2 < 0:
                raise Malformed(f"invalid length {topic_partitions_count_2}")
            if topic_partitions_count_2 * 19 > end - pos:
                raise Malformed(f"{topic_partitions_count_2} elements announced, {end - pos} bytes remain")
            budget -= topic_partitions_count_2 * 340
            if budget < 0:
                raise Malformed(f"{topic_partitions_count_2} more would take more than {DECODED_BYTES_MAX} bytes")
            topic_partitions_2 = []
            for _ in range(topic_partitions_count_2):
                # groups.members.target_assignment.topic_partitions.topic_id to groups.members.target_assignment.topic_partitions.topic_name
                topic_id_2, n = unpack_16sB(buf, pos)
                # groups.members.target_assignment.topic_partitions.topic_name
                pos += 17
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    raise Malformed(f"invalid length {n}")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                topic_name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # groups.members.target_assignment.topic_partitions.partitions
                partitions_count_2 = buf[pos]
                pos += 1
                if partitions_count_2 > 127:
                    partitions_count_2, pos = read_uvarint(buf, pos - 1)
                partitions_count_2 -= 1
                if partitions_count_2 < 0:
                    raise Malformed(f"invalid length {partitions_count_2}")
                if partitions_count_2 * 4 > end - pos:
                    raise Malformed(f"{partitions_count_2} elements announced, {end - pos} bytes remain")
                budget -= partitions_count_2 * 52
                if budget < 0:
                    raise Malformed(f"{partitions_count_2} more would take more than {DECODED_BYTES_MAX} bytes")
                partitions_2 = list(unpack_from(f">{partitions_count_2}i", buf, pos))
                pos += partitions_count_2 * 4
                # groups.members.target_assignment.topic_partitions.tags
                n = buf[pos]
                pos += 1
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # groups.members.target_assignment.topic_partitions
                topic_partitions_2.append(new(TopicPartitions, (topic_id_2, topic_name_2, partitions_2)))
            # groups.members.target_assignment.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # groups.members.target_assignment
            target_assignment = new(Assignment, (topic_partitions_2,))
            # groups.members.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # groups.members
            members.append(
                new(
                    Member,
                    (
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
                    ),
                )
            )
        # groups.authorized_operations to groups.tags
        authorized_operations, n = unpack_iB(buf, pos)
        # groups.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # groups
        groups.append(
            new(
                DescribedGroup,
                (
                    error_code,
                    error_message,
                    group_id,
                    group_state,
                    group_epoch,
                    assignment_epoch,
                    assignor_name,
                    members,
                    authorized_operations,
                ),
            )
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ConsumerGroupDescribeResponse, (throttle_time_ms, groups))


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerGroupDescribeResponse]]] = {0: decode_v0}
PLACES: Final = """\
29 422 the message
33 throttle_time_ms to groups
35 400 groups
49 groups.error_code to groups.error_message
51 groups.error_message
66 groups.group_id
81 groups.group_state
96 groups.group_epoch to groups.assignor_name
98 groups.assignor_name
112 376 groups.members
127 groups.members.member_id
142 groups.members.instance_id
158 groups.members.rack_id
174 groups.members.member_epoch to groups.members.client_id
176 groups.members.client_id
190 groups.members.client_host
205 groups.members.subscribed_topic_names
235 groups.members.subscribed_topic_regex
251 302 groups.members.assignment.topic_partitions
266 groups.members.assignment.topic_partitions.topic_id to groups.members.assignment.topic_partitions.topic_name
268 groups.members.assignment.topic_partitions.topic_name
282 groups.members.assignment.topic_partitions.partitions
297 groups.members.assignment.topic_partitions.tags
304 groups.members.assignment.tags
309 groups.members.assignment
311 362 groups.members.target_assignment.topic_partitions
326 groups.members.target_assignment.topic_partitions.topic_id to groups.members.target_assignment.topic_partitions.topic_name
328 groups.members.target_assignment.topic_partitions.topic_name
342 groups.members.target_assignment.topic_partitions.partitions
357 groups.members.target_assignment.topic_partitions.tags
364 groups.members.target_assignment.tags
369 groups.members.target_assignment
371 groups.members.tags
394 groups.authorized_operations to groups.tags
396 groups.tags
417 tags
"""
