"""Decoders of MetadataResponse, v0 to v12.

Made by `make codec` from protocol/schema/03_metadata.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB0B = Struct(">16s?B").unpack_from
unpack_B0B = Struct(">?B").unpack_from
unpack_B0i = Struct(">?i").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_hiii = Struct(">hiii").unpack_from
unpack_hiiiB = Struct(">hiiiB").unpack_from
unpack_hiiii = Struct(">hiiii").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # brokers
    (brokers_count,) = unpack_i(buf, pos)
    pos += 4
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 10 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 260
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_ih(buf, pos)
        # brokers.host
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers
        (port,) = unpack_i(buf, pos)
        # brokers
        pos += 4
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, None)))
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 8 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 332
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hh(buf, pos)
        # topics.name
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 412
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, replica_nodes_count = unpack_hiii(buf, pos)
            # topics.partitions.replica_nodes
            pos += 14
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            (isr_nodes_count,) = unpack_i(buf, pos)
            pos += 4
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (error_code_2, partition_index, leader_id, -1, replica_nodes, isr_nodes, ()),
                )
            )
        # topics
        topics.append(new(MetadataResponseTopic, (error_code, name, ZERO_UUID, False, partitions, -2147483648)))
    # the message
    return new(MetadataResponse, (0, brokers, None, -1, topics, -2147483648))


def decode_v1(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # brokers
    (brokers_count,) = unpack_i(buf, pos)
    pos += 4
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 12 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_ih(buf, pos)
        # brokers.host
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers.rack
        port, n = unpack_ih(buf, pos)
        # brokers.rack
        pos += 6
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, rack)))
    # controller_id to topics
    controller_id, topics_count = unpack_ii(buf, pos)
    # topics
    pos += 8
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 9 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 332
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hh(buf, pos)
        # topics.name
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.is_internal to topics.partitions
        is_internal, partitions_count = unpack_B0i(buf, pos)
        # topics.partitions
        pos += 5
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 412
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, replica_nodes_count = unpack_hiii(buf, pos)
            # topics.partitions.replica_nodes
            pos += 14
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            (isr_nodes_count,) = unpack_i(buf, pos)
            pos += 4
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (error_code_2, partition_index, leader_id, -1, replica_nodes, isr_nodes, ()),
                )
            )
        # topics
        topics.append(new(MetadataResponseTopic, (error_code, name, ZERO_UUID, is_internal, partitions, -2147483648)))
    # the message
    return new(MetadataResponse, (0, brokers, None, controller_id, topics, -2147483648))


def decode_v2(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # brokers
    (brokers_count,) = unpack_i(buf, pos)
    pos += 4
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 12 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_ih(buf, pos)
        # brokers.host
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers.rack
        port, n = unpack_ih(buf, pos)
        # brokers.rack
        pos += 6
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, rack)))
    # cluster_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        cluster_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # controller_id to topics
    controller_id, topics_count = unpack_ii(buf, pos)
    # topics
    pos += 8
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 9 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 332
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hh(buf, pos)
        # topics.name
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.is_internal to topics.partitions
        is_internal, partitions_count = unpack_B0i(buf, pos)
        # topics.partitions
        pos += 5
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 412
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, replica_nodes_count = unpack_hiii(buf, pos)
            # topics.partitions.replica_nodes
            pos += 14
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            (isr_nodes_count,) = unpack_i(buf, pos)
            pos += 4
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (error_code_2, partition_index, leader_id, -1, replica_nodes, isr_nodes, ()),
                )
            )
        # topics
        topics.append(new(MetadataResponseTopic, (error_code, name, ZERO_UUID, is_internal, partitions, -2147483648)))
    # the message
    return new(MetadataResponse, (0, brokers, cluster_id, controller_id, topics, -2147483648))


def decode_v3(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to brokers
    throttle_time_ms, brokers_count = unpack_ii(buf, pos)
    # brokers
    pos += 8
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 12 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_ih(buf, pos)
        # brokers.host
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers.rack
        port, n = unpack_ih(buf, pos)
        # brokers.rack
        pos += 6
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, rack)))
    # cluster_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        cluster_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # controller_id to topics
    controller_id, topics_count = unpack_ii(buf, pos)
    # topics
    pos += 8
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 9 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 332
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hh(buf, pos)
        # topics.name
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.is_internal to topics.partitions
        is_internal, partitions_count = unpack_B0i(buf, pos)
        # topics.partitions
        pos += 5
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 412
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, replica_nodes_count = unpack_hiii(buf, pos)
            # topics.partitions.replica_nodes
            pos += 14
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            (isr_nodes_count,) = unpack_i(buf, pos)
            pos += 4
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (error_code_2, partition_index, leader_id, -1, replica_nodes, isr_nodes, ()),
                )
            )
        # topics
        topics.append(new(MetadataResponseTopic, (error_code, name, ZERO_UUID, is_internal, partitions, -2147483648)))
    # the message
    return new(MetadataResponse, (throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648))


def decode_v5(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to brokers
    throttle_time_ms, brokers_count = unpack_ii(buf, pos)
    # brokers
    pos += 8
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 12 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_ih(buf, pos)
        # brokers.host
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers.rack
        port, n = unpack_ih(buf, pos)
        # brokers.rack
        pos += 6
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, rack)))
    # cluster_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        cluster_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # controller_id to topics
    controller_id, topics_count = unpack_ii(buf, pos)
    # topics
    pos += 8
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 9 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 332
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hh(buf, pos)
        # topics.name
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.is_internal to topics.partitions
        is_internal, partitions_count = unpack_B0i(buf, pos)
        # topics.partitions
        pos += 5
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 22 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 500
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, replica_nodes_count = unpack_hiii(buf, pos)
            # topics.partitions.replica_nodes
            pos += 14
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            (isr_nodes_count,) = unpack_i(buf, pos)
            pos += 4
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions.offline_replicas
            (offline_replicas_count,) = unpack_i(buf, pos)
            pos += 4
            if offline_replicas_count < 0:
                raise Malformed(f"invalid length {offline_replicas_count}")
            if offline_replicas_count * 4 > end - pos:
                raise Malformed(f"{offline_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= offline_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (error_code_2, partition_index, leader_id, -1, replica_nodes, isr_nodes, offline_replicas),
                )
            )
        # topics
        topics.append(new(MetadataResponseTopic, (error_code, name, ZERO_UUID, is_internal, partitions, -2147483648)))
    # the message
    return new(MetadataResponse, (throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648))


def decode_v7(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to brokers
    throttle_time_ms, brokers_count = unpack_ii(buf, pos)
    # brokers
    pos += 8
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 12 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_ih(buf, pos)
        # brokers.host
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers.rack
        port, n = unpack_ih(buf, pos)
        # brokers.rack
        pos += 6
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, rack)))
    # cluster_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        cluster_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # controller_id to topics
    controller_id, topics_count = unpack_ii(buf, pos)
    # topics
    pos += 8
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 9 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 332
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hh(buf, pos)
        # topics.name
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.is_internal to topics.partitions
        is_internal, partitions_count = unpack_B0i(buf, pos)
        # topics.partitions
        pos += 5
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 26 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 532
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, leader_epoch, replica_nodes_count = unpack_hiiii(buf, pos)
            # topics.partitions.replica_nodes
            pos += 18
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            (isr_nodes_count,) = unpack_i(buf, pos)
            pos += 4
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions.offline_replicas
            (offline_replicas_count,) = unpack_i(buf, pos)
            pos += 4
            if offline_replicas_count < 0:
                raise Malformed(f"invalid length {offline_replicas_count}")
            if offline_replicas_count * 4 > end - pos:
                raise Malformed(f"{offline_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= offline_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (
                        error_code_2,
                        partition_index,
                        leader_id,
                        leader_epoch,
                        replica_nodes,
                        isr_nodes,
                        offline_replicas,
                    ),
                )
            )
        # topics
        topics.append(new(MetadataResponseTopic, (error_code, name, ZERO_UUID, is_internal, partitions, -2147483648)))
    # the message
    return new(MetadataResponse, (throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648))


def decode_v8(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to brokers
    throttle_time_ms, brokers_count = unpack_ii(buf, pos)
    # brokers
    pos += 8
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 12 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_ih(buf, pos)
        # brokers.host
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers.rack
        port, n = unpack_ih(buf, pos)
        # brokers.rack
        pos += 6
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, rack)))
    # cluster_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        cluster_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # controller_id to topics
    controller_id, topics_count = unpack_ii(buf, pos)
    # topics
    pos += 8
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 13 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 364
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hh(buf, pos)
        # topics.name
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.is_internal to topics.partitions
        is_internal, partitions_count = unpack_B0i(buf, pos)
        # topics.partitions
        pos += 5
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 26 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 532
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, leader_epoch, replica_nodes_count = unpack_hiiii(buf, pos)
            # topics.partitions.replica_nodes
            pos += 18
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            (isr_nodes_count,) = unpack_i(buf, pos)
            pos += 4
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions.offline_replicas
            (offline_replicas_count,) = unpack_i(buf, pos)
            pos += 4
            if offline_replicas_count < 0:
                raise Malformed(f"invalid length {offline_replicas_count}")
            if offline_replicas_count * 4 > end - pos:
                raise Malformed(f"{offline_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= offline_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (
                        error_code_2,
                        partition_index,
                        leader_id,
                        leader_epoch,
                        replica_nodes,
                        isr_nodes,
                        offline_replicas,
                    ),
                )
            )
        # topics.topic_authorized_operations to topics
        (topic_authorized_operations,) = unpack_i(buf, pos)
        # topics
        pos += 4
        topics.append(
            new(
                MetadataResponseTopic,
                (error_code, name, ZERO_UUID, is_internal, partitions, topic_authorized_operations),
            )
        )
    # cluster_authorized_operations to the end
    (cluster_authorized_operations,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(
        MetadataResponse, (throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations)
    )


def decode_v9(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to brokers
    throttle_time_ms, brokers_count = unpack_iB(buf, pos)
    # brokers
    pos += 5
    if brokers_count > 127:
        brokers_count, pos = read_uvarint(buf, pos - 1)
    brokers_count -= 1
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 11 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_iB(buf, pos)
        # brokers.host
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
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers.rack
        port, n = unpack_iB(buf, pos)
        # brokers.rack
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # brokers
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, rack)))
    # cluster_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        cluster_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # controller_id to topics
    controller_id, topics_count = unpack_iB(buf, pos)
    # topics
    pos += 5
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 10 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 364
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hB(buf, pos)
        # topics.name
        pos += 3
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
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.is_internal to topics.partitions
        is_internal, partitions_count = unpack_B0B(buf, pos)
        # topics.partitions
        pos += 2
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 532
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, leader_epoch, replica_nodes_count = unpack_hiiiB(buf, pos)
            # topics.partitions.replica_nodes
            pos += 15
            if replica_nodes_count > 127:
                replica_nodes_count, pos = read_uvarint(buf, pos - 1)
            replica_nodes_count -= 1
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            isr_nodes_count = buf[pos]
            pos += 1
            if isr_nodes_count > 127:
                isr_nodes_count, pos = read_uvarint(buf, pos - 1)
            isr_nodes_count -= 1
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions.offline_replicas
            offline_replicas_count = buf[pos]
            pos += 1
            if offline_replicas_count > 127:
                offline_replicas_count, pos = read_uvarint(buf, pos - 1)
            offline_replicas_count -= 1
            if offline_replicas_count < 0:
                raise Malformed(f"invalid length {offline_replicas_count}")
            if offline_replicas_count * 4 > end - pos:
                raise Malformed(f"{offline_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= offline_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
            # topics.partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (
                        error_code_2,
                        partition_index,
                        leader_id,
                        leader_epoch,
                        replica_nodes,
                        isr_nodes,
                        offline_replicas,
                    ),
                )
            )
        # topics.topic_authorized_operations to topics.tags
        topic_authorized_operations, n = unpack_iB(buf, pos)
        # topics.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(
            new(
                MetadataResponseTopic,
                (error_code, name, ZERO_UUID, is_internal, partitions, topic_authorized_operations),
            )
        )
    # cluster_authorized_operations to tags
    cluster_authorized_operations, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        MetadataResponse, (throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations)
    )


def decode_v10(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to brokers
    throttle_time_ms, brokers_count = unpack_iB(buf, pos)
    # brokers
    pos += 5
    if brokers_count > 127:
        brokers_count, pos = read_uvarint(buf, pos - 1)
    brokers_count -= 1
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 11 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_iB(buf, pos)
        # brokers.host
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
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers.rack
        port, n = unpack_iB(buf, pos)
        # brokers.rack
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # brokers
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, rack)))
    # cluster_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        cluster_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # controller_id to topics
    controller_id, topics_count = unpack_iB(buf, pos)
    # topics
    pos += 5
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 26 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 428
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hB(buf, pos)
        # topics.name
        pos += 3
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
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.topic_id to topics.partitions
        topic_id, is_internal, partitions_count = unpack_16sB0B(buf, pos)
        # topics.partitions
        pos += 18
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 532
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, leader_epoch, replica_nodes_count = unpack_hiiiB(buf, pos)
            # topics.partitions.replica_nodes
            pos += 15
            if replica_nodes_count > 127:
                replica_nodes_count, pos = read_uvarint(buf, pos - 1)
            replica_nodes_count -= 1
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            isr_nodes_count = buf[pos]
            pos += 1
            if isr_nodes_count > 127:
                isr_nodes_count, pos = read_uvarint(buf, pos - 1)
            isr_nodes_count -= 1
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions.offline_replicas
            offline_replicas_count = buf[pos]
            pos += 1
            if offline_replicas_count > 127:
                offline_replicas_count, pos = read_uvarint(buf, pos - 1)
            offline_replicas_count -= 1
            if offline_replicas_count < 0:
                raise Malformed(f"invalid length {offline_replicas_count}")
            if offline_replicas_count * 4 > end - pos:
                raise Malformed(f"{offline_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= offline_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
            # topics.partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (
                        error_code_2,
                        partition_index,
                        leader_id,
                        leader_epoch,
                        replica_nodes,
                        isr_nodes,
                        offline_replicas,
                    ),
                )
            )
        # topics.topic_authorized_operations to topics.tags
        topic_authorized_operations, n = unpack_iB(buf, pos)
        # topics.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(
            new(
                MetadataResponseTopic,
                (error_code, name, topic_id, is_internal, partitions, topic_authorized_operations),
            )
        )
    # cluster_authorized_operations to tags
    cluster_authorized_operations, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        MetadataResponse, (throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations)
    )


def decode_v11(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to brokers
    throttle_time_ms, brokers_count = unpack_iB(buf, pos)
    # brokers
    pos += 5
    if brokers_count > 127:
        brokers_count, pos = read_uvarint(buf, pos - 1)
    brokers_count -= 1
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 11 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_iB(buf, pos)
        # brokers.host
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
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers.rack
        port, n = unpack_iB(buf, pos)
        # brokers.rack
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # brokers
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, rack)))
    # cluster_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        cluster_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # controller_id to topics
    controller_id, topics_count = unpack_iB(buf, pos)
    # topics
    pos += 5
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 26 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 428
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hB(buf, pos)
        # topics.name
        pos += 3
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
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.topic_id to topics.partitions
        topic_id, is_internal, partitions_count = unpack_16sB0B(buf, pos)
        # topics.partitions
        pos += 18
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 532
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, leader_epoch, replica_nodes_count = unpack_hiiiB(buf, pos)
            # topics.partitions.replica_nodes
            pos += 15
            if replica_nodes_count > 127:
                replica_nodes_count, pos = read_uvarint(buf, pos - 1)
            replica_nodes_count -= 1
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            isr_nodes_count = buf[pos]
            pos += 1
            if isr_nodes_count > 127:
                isr_nodes_count, pos = read_uvarint(buf, pos - 1)
            isr_nodes_count -= 1
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions.offline_replicas
            offline_replicas_count = buf[pos]
            pos += 1
            if offline_replicas_count > 127:
                offline_replicas_count, pos = read_uvarint(buf, pos - 1)
            offline_replicas_count -= 1
            if offline_replicas_count < 0:
                raise Malformed(f"invalid length {offline_replicas_count}")
            if offline_replicas_count * 4 > end - pos:
                raise Malformed(f"{offline_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= offline_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
            # topics.partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (
                        error_code_2,
                        partition_index,
                        leader_id,
                        leader_epoch,
                        replica_nodes,
                        isr_nodes,
                        offline_replicas,
                    ),
                )
            )
        # topics.topic_authorized_operations to topics.tags
        topic_authorized_operations, n = unpack_iB(buf, pos)
        # topics.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(
            new(
                MetadataResponseTopic,
                (error_code, name, topic_id, is_internal, partitions, topic_authorized_operations),
            )
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(MetadataResponse, (throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648))


def decode_v12(buf: memoryview) -> MetadataResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to brokers
    throttle_time_ms, brokers_count = unpack_iB(buf, pos)
    # brokers
    pos += 5
    if brokers_count > 127:
        brokers_count, pos = read_uvarint(buf, pos - 1)
    brokers_count -= 1
    if brokers_count < 0:
        raise Malformed(f"invalid length {brokers_count}")
    if brokers_count * 11 > end - pos:
        raise Malformed(f"{brokers_count} elements announced, {end - pos} bytes remain")
    budget -= brokers_count * 340
    if budget < 0:
        raise Malformed(f"{brokers_count} more would take more than {DECODED_BYTES_MAX} bytes")
    brokers = []
    for _ in range(brokers_count):
        # brokers.node_id to brokers.host
        node_id, n = unpack_iB(buf, pos)
        # brokers.host
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
        host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # brokers.port to brokers.rack
        port, n = unpack_iB(buf, pos)
        # brokers.rack
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            rack = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # brokers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # brokers
        brokers.append(new(MetadataResponseBroker, (node_id, host, port, rack)))
    # cluster_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        cluster_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # controller_id to topics
    controller_id, topics_count = unpack_iB(buf, pos)
    # topics
    pos += 5
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 26 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 428
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.error_code to topics.name
        error_code, n = unpack_hB(buf, pos)
        # topics.name
        pos += 3
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            name = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # topics.topic_id to topics.partitions
        topic_id, is_internal, partitions_count = unpack_16sB0B(buf, pos)
        # topics.partitions
        pos += 18
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 532
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.replica_nodes
            error_code_2, partition_index, leader_id, leader_epoch, replica_nodes_count = unpack_hiiiB(buf, pos)
            # topics.partitions.replica_nodes
            pos += 15
            if replica_nodes_count > 127:
                replica_nodes_count, pos = read_uvarint(buf, pos - 1)
            replica_nodes_count -= 1
            if replica_nodes_count < 0:
                raise Malformed(f"invalid length {replica_nodes_count}")
            if replica_nodes_count * 4 > end - pos:
                raise Malformed(f"{replica_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= replica_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{replica_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replica_nodes = list(unpack_from(f">{replica_nodes_count}i", buf, pos))
            pos += replica_nodes_count * 4
            # topics.partitions.isr_nodes
            isr_nodes_count = buf[pos]
            pos += 1
            if isr_nodes_count > 127:
                isr_nodes_count, pos = read_uvarint(buf, pos - 1)
            isr_nodes_count -= 1
            if isr_nodes_count < 0:
                raise Malformed(f"invalid length {isr_nodes_count}")
            if isr_nodes_count * 4 > end - pos:
                raise Malformed(f"{isr_nodes_count} elements announced, {end - pos} bytes remain")
            budget -= isr_nodes_count * 52
            if budget < 0:
                raise Malformed(f"{isr_nodes_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr_nodes = list(unpack_from(f">{isr_nodes_count}i", buf, pos))
            pos += isr_nodes_count * 4
            # topics.partitions.offline_replicas
            offline_replicas_count = buf[pos]
            pos += 1
            if offline_replicas_count > 127:
                offline_replicas_count, pos = read_uvarint(buf, pos - 1)
            offline_replicas_count -= 1
            if offline_replicas_count < 0:
                raise Malformed(f"invalid length {offline_replicas_count}")
            if offline_replicas_count * 4 > end - pos:
                raise Malformed(f"{offline_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= offline_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
            # topics.partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    MetadataResponsePartition,
                    (
                        error_code_2,
                        partition_index,
                        leader_id,
                        leader_epoch,
                        replica_nodes,
                        isr_nodes,
                        offline_replicas,
                    ),
                )
            )
        # topics.topic_authorized_operations to topics.tags
        topic_authorized_operations, n = unpack_iB(buf, pos)
        # topics.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(
            new(
                MetadataResponseTopic,
                (error_code, name, topic_id, is_internal, partitions, topic_authorized_operations),
            )
        )
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(MetadataResponse, (throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648))


DECODERS: Final[dict[int, Callable[[memoryview], MetadataResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v3,
    4: decode_v3,
    5: decode_v5,
    6: decode_v5,
    7: decode_v7,
    8: decode_v8,
    9: decode_v9,
    10: decode_v10,
    11: decode_v11,
    12: decode_v12,
}
PLACES: Final = """\
38 139 143 257 261 388 392 520 524 664 668 816 820 978 985 1194 1200 1409 1415 1623 1627 1836 the message
42 67 147 184 265 302 398 434 530 566 674 710 826 862 991 1043 1206 1258 1421 1473 1633 1685 brokers
54 159 277 409 541 685 837 1005 1220 1435 1647 brokers.node_id to brokers.host
56 161 279 411 543 687 839 1007 1222 1437 1649 brokers.host
65 brokers.port to brokers
70 137 188 255 319 386 451 518 583 662 727 814 879 968 1063 1181 1278 1396 1493 1611 1705 1824 topics
82 199 330 462 594 738 890 1077 1292 1507 1719 topics.error_code to topics.name
84 201 332 464 596 740 892 1079 1294 1509 1721 topics.name
93 130 212 248 343 379 475 511 607 655 751 799 903 951 1095 1160 1310 1375 1525 1590 1738 1803 topics.partitions
105 223 354 486 618 762 914 1109 1324 1539 1752 topics.partitions.error_code to topics.partitions.replica_nodes
107 225 356 488 620 764 916 1111 1326 1541 1754 topics.partitions.replica_nodes
118 236 367 499 631 775 927 1125 1340 1555 1768 topics.partitions.isr_nodes
170 288 420 552 696 848 1021 1236 1451 1663 brokers.port to brokers.rack
172 290 422 554 698 850 1023 1238 1453 1665 brokers.rack
186 317 449 581 725 877 1061 1276 1491 1703 controller_id to topics
210 341 473 605 749 901 1093 topics.is_internal to topics.partitions
304 436 568 712 864 1045 1260 1475 1687 cluster_id
396 528 672 824 989 1204 1419 1631 throttle_time_ms to brokers
643 787 939 1140 1355 1570 1783 topics.partitions.offline_replicas
966 topics.topic_authorized_operations to topics
976 cluster_authorized_operations to the end
1038 1253 1468 1680 brokers.tags
1155 1370 1585 1798 topics.partitions.tags
1175 1390 1605 1818 topics.topic_authorized_operations to topics.tags
1177 1392 1607 1820 topics.tags
1188 1403 cluster_authorized_operations to tags
1190 1405 1618 1831 tags
1308 1523 1736 topics.topic_id to topics.partitions
"""
