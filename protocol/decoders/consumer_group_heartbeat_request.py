"""Decoders of ConsumerGroupHeartbeatRequest, v0.

Made by `make codec` from protocol/schema/68_consumer_group_heartbeat.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerGroupHeartbeatRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
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
    # member_id
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
    # member_epoch to instance_id
    member_epoch, n = unpack_iB(buf, pos)
    # instance_id
    pos += 5
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
    # rack_id
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
    # rebalance_timeout_ms to subscribed_topic_names
    rebalance_timeout_ms, subscribed_topic_names_count = unpack_iB(buf, pos)
    # subscribed_topic_names
    pos += 5
    if subscribed_topic_names_count > 127:
        subscribed_topic_names_count, pos = read_uvarint(buf, pos - 1)
    subscribed_topic_names_count -= 1
    if subscribed_topic_names_count < 0:
        subscribed_topic_names = None
    else:
        if subscribed_topic_names_count * 1 > end - pos:
            raise Malformed(f"{subscribed_topic_names_count} elements announced, {end - pos} bytes remain")
        budget -= subscribed_topic_names_count * 100
        if budget < 0:
            raise Malformed(
                f"{subscribed_topic_names_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
            )
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
    # server_assignor
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        server_assignor = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        server_assignor = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # topic_partitions
    topic_partitions_count = buf[pos]
    pos += 1
    if topic_partitions_count > 127:
        topic_partitions_count, pos = read_uvarint(buf, pos - 1)
    topic_partitions_count -= 1
    if topic_partitions_count < 0:
        topic_partitions = None
    else:
        if topic_partitions_count * 18 > end - pos:
            raise Malformed(f"{topic_partitions_count} elements announced, {end - pos} bytes remain")
        budget -= topic_partitions_count * 252
        if budget < 0:
            raise Malformed(f"{topic_partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        topic_partitions = []
        for _ in range(topic_partitions_count):
            # topic_partitions.topic_id to topic_partitions.partitions
            topic_id, partitions_count = unpack_16sB(buf, pos)
            # topic_partitions.partitions
            pos += 17
            if partitions_count > 127:
                partitions_count, pos = read_uvarint(buf, pos - 1)
            partitions_count -= 1
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 4 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 52
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
            pos += partitions_count * 4
            # topic_partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_partitions
            topic_partitions.append(new(TopicPartitions, (topic_id, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        ConsumerGroupHeartbeatRequest,
        (
            group_id,
            member_id,
            member_epoch,
            instance_id,
            rack_id,
            rebalance_timeout_ms,
            subscribed_topic_names,
            server_assignor,
            topic_partitions,
        ),
    )


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerGroupHeartbeatRequest]]] = {0: decode_v0}
PLACES: Final = """\
21 182 the message
25 group_id
40 member_id
55 member_epoch to instance_id
57 instance_id
72 rack_id
88 rebalance_timeout_ms to subscribed_topic_names
90 subscribed_topic_names
122 server_assignor
138 175 topic_partitions
154 topic_partitions.topic_id to topic_partitions.partitions
156 topic_partitions.partitions
170 topic_partitions.tags
177 tags
"""
