"""Decoders of UpdateMetadataRequest, v0 to v8.

Made by `make codec` from protocol/schema/06_update_metadata.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, open_tags, skip_tags
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_b = Struct(">b").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_iB0iqB = Struct(">i?iqB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ii = Struct(">ii").unpack_from
unpack_iii = Struct(">iii").unpack_from
unpack_iiiiB = Struct(">iiiiB").unpack_from
unpack_iiiii = Struct(">iiiii").unpack_from
unpack_iiqB = Struct(">iiqB").unpack_from
unpack_iiqi = Struct(">iiqi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> UpdateMetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to ungrouped_partition_states
    controller_id, controller_epoch, n = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 30 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 572
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    ungrouped_partition_states = []
    for _ in range(n):
        # ungrouped_partition_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        partition_index, controller_epoch_2, leader, leader_epoch, n = unpack_iiiii(buf, pos)
        # ungrouped_partition_states.isr
        pos += 20
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        isr = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        zk_version, n = unpack_ii(buf, pos)
        # ungrouped_partition_states.replicas
        pos += 8
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        replicas = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states
        ungrouped_partition_states.append(
            new(
                UpdateMetadataPartitionState,
                (topic_name, partition_index, controller_epoch_2, leader, leader_epoch, isr, zk_version, replicas, ()),
            )
        )
    # live_brokers
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 268
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(n):
        # live_brokers.id to live_brokers.v0_host
        id_, n = unpack_ih(buf, pos)
        # live_brokers.v0_host
        pos += 6
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        v0_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # live_brokers.v0_port to live_brokers
        (v0_port,) = unpack_i(buf, pos)
        # live_brokers
        pos += 4
        live_brokers.append(new(UpdateMetadataBroker, (id_, v0_host, v0_port, (), "")))
    # the message
    return new(
        UpdateMetadataRequest,
        (controller_id, False, 0, controller_epoch, -1, ungrouped_partition_states, (), live_brokers),
    )


def decode_v1(buf: memoryview) -> UpdateMetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to ungrouped_partition_states
    controller_id, controller_epoch, n = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 30 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 572
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    ungrouped_partition_states = []
    for _ in range(n):
        # ungrouped_partition_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        partition_index, controller_epoch_2, leader, leader_epoch, n = unpack_iiiii(buf, pos)
        # ungrouped_partition_states.isr
        pos += 20
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        isr = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        zk_version, n = unpack_ii(buf, pos)
        # ungrouped_partition_states.replicas
        pos += 8
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        replicas = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states
        ungrouped_partition_states.append(
            new(
                UpdateMetadataPartitionState,
                (topic_name, partition_index, controller_epoch_2, leader, leader_epoch, isr, zk_version, replicas, ()),
            )
        )
    # live_brokers
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 8 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 244
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(n):
        # live_brokers.id to live_brokers.endpoints
        id_, n = unpack_ii(buf, pos)
        # live_brokers.endpoints
        pos += 8
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 8 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 260
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(n):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_ih(buf, pos)
            # live_brokers.endpoints.host
            pos += 6
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            (security_protocol,) = unpack_h(buf, pos)
            # live_brokers.endpoints
            pos += 2
            endpoints.append(new(UpdateMetadataEndpoint, (port, host, "", security_protocol)))
        # live_brokers
        live_brokers.append(new(UpdateMetadataBroker, (id_, "", 0, endpoints, "")))
    # the message
    return new(
        UpdateMetadataRequest,
        (controller_id, False, 0, controller_epoch, -1, ungrouped_partition_states, (), live_brokers),
    )


def decode_v2(buf: memoryview) -> UpdateMetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to ungrouped_partition_states
    controller_id, controller_epoch, n = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 30 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 572
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    ungrouped_partition_states = []
    for _ in range(n):
        # ungrouped_partition_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        partition_index, controller_epoch_2, leader, leader_epoch, n = unpack_iiiii(buf, pos)
        # ungrouped_partition_states.isr
        pos += 20
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        isr = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        zk_version, n = unpack_ii(buf, pos)
        # ungrouped_partition_states.replicas
        pos += 8
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        replicas = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states
        ungrouped_partition_states.append(
            new(
                UpdateMetadataPartitionState,
                (topic_name, partition_index, controller_epoch_2, leader, leader_epoch, isr, zk_version, replicas, ()),
            )
        )
    # live_brokers
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 324
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(n):
        # live_brokers.id to live_brokers.endpoints
        id_, n = unpack_ii(buf, pos)
        # live_brokers.endpoints
        pos += 8
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 8 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 260
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(n):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_ih(buf, pos)
            # live_brokers.endpoints.host
            pos += 6
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            (security_protocol,) = unpack_h(buf, pos)
            # live_brokers.endpoints
            pos += 2
            endpoints.append(new(UpdateMetadataEndpoint, (port, host, "", security_protocol)))
        # live_brokers.rack
        (n,) = unpack_h(buf, pos)
        pos += 2
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
        # live_brokers
        live_brokers.append(new(UpdateMetadataBroker, (id_, "", 0, endpoints, rack)))
    # the message
    return new(
        UpdateMetadataRequest,
        (controller_id, False, 0, controller_epoch, -1, ungrouped_partition_states, (), live_brokers),
    )


def decode_v3(buf: memoryview) -> UpdateMetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to ungrouped_partition_states
    controller_id, controller_epoch, n = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 30 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 572
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    ungrouped_partition_states = []
    for _ in range(n):
        # ungrouped_partition_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        partition_index, controller_epoch_2, leader, leader_epoch, n = unpack_iiiii(buf, pos)
        # ungrouped_partition_states.isr
        pos += 20
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        isr = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        zk_version, n = unpack_ii(buf, pos)
        # ungrouped_partition_states.replicas
        pos += 8
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        replicas = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states
        ungrouped_partition_states.append(
            new(
                UpdateMetadataPartitionState,
                (topic_name, partition_index, controller_epoch_2, leader, leader_epoch, isr, zk_version, replicas, ()),
            )
        )
    # live_brokers
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 324
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(n):
        # live_brokers.id to live_brokers.endpoints
        id_, n = unpack_ii(buf, pos)
        # live_brokers.endpoints
        pos += 8
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 10 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 340
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(n):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_ih(buf, pos)
            # live_brokers.endpoints.host
            pos += 6
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.listener
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            listener = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            (security_protocol,) = unpack_h(buf, pos)
            # live_brokers.endpoints
            pos += 2
            endpoints.append(new(UpdateMetadataEndpoint, (port, host, listener, security_protocol)))
        # live_brokers.rack
        (n,) = unpack_h(buf, pos)
        pos += 2
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
        # live_brokers
        live_brokers.append(new(UpdateMetadataBroker, (id_, "", 0, endpoints, rack)))
    # the message
    return new(
        UpdateMetadataRequest,
        (controller_id, False, 0, controller_epoch, -1, ungrouped_partition_states, (), live_brokers),
    )


def decode_v4(buf: memoryview) -> UpdateMetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to ungrouped_partition_states
    controller_id, controller_epoch, n = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 34 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 660
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    ungrouped_partition_states = []
    for _ in range(n):
        # ungrouped_partition_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        partition_index, controller_epoch_2, leader, leader_epoch, n = unpack_iiiii(buf, pos)
        # ungrouped_partition_states.isr
        pos += 20
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        isr = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        zk_version, n = unpack_ii(buf, pos)
        # ungrouped_partition_states.replicas
        pos += 8
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        replicas = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states.offline_replicas
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        offline_replicas = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # ungrouped_partition_states
        ungrouped_partition_states.append(
            new(
                UpdateMetadataPartitionState,
                (
                    topic_name,
                    partition_index,
                    controller_epoch_2,
                    leader,
                    leader_epoch,
                    isr,
                    zk_version,
                    replicas,
                    offline_replicas,
                ),
            )
        )
    # live_brokers
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 324
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(n):
        # live_brokers.id to live_brokers.endpoints
        id_, n = unpack_ii(buf, pos)
        # live_brokers.endpoints
        pos += 8
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 10 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 340
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(n):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_ih(buf, pos)
            # live_brokers.endpoints.host
            pos += 6
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.listener
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            listener = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            (security_protocol,) = unpack_h(buf, pos)
            # live_brokers.endpoints
            pos += 2
            endpoints.append(new(UpdateMetadataEndpoint, (port, host, listener, security_protocol)))
        # live_brokers.rack
        (n,) = unpack_h(buf, pos)
        pos += 2
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
        # live_brokers
        live_brokers.append(new(UpdateMetadataBroker, (id_, "", 0, endpoints, rack)))
    # the message
    return new(
        UpdateMetadataRequest,
        (controller_id, False, 0, controller_epoch, -1, ungrouped_partition_states, (), live_brokers),
    )


def decode_v5(buf: memoryview) -> UpdateMetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topic_states
    controller_id, controller_epoch, broker_epoch, n = unpack_iiqi(buf, pos)
    # topic_states
    pos += 20
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 276
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_states = []
    for _ in range(n):
        # topic_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topic_states.partition_states
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 32 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 580
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_states = []
        for _ in range(n):
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            partition_index, controller_epoch_2, leader, leader_epoch, n = unpack_iiiii(buf, pos)
            # topic_states.partition_states.isr
            pos += 20
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
            zk_version, n = unpack_ii(buf, pos)
            # topic_states.partition_states.replicas
            pos += 8
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.offline_replicas
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states
            partition_states.append(
                new(
                    UpdateMetadataPartitionState,
                    (
                        "",
                        partition_index,
                        controller_epoch_2,
                        leader,
                        leader_epoch,
                        isr,
                        zk_version,
                        replicas,
                        offline_replicas,
                    ),
                )
            )
        # topic_states
        topic_states.append(new(UpdateMetadataTopicState, (topic_name, ZERO_UUID, partition_states)))
    # live_brokers
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 324
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(n):
        # live_brokers.id to live_brokers.endpoints
        id_, n = unpack_ii(buf, pos)
        # live_brokers.endpoints
        pos += 8
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 10 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 340
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(n):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_ih(buf, pos)
            # live_brokers.endpoints.host
            pos += 6
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.listener
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            listener = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            (security_protocol,) = unpack_h(buf, pos)
            # live_brokers.endpoints
            pos += 2
            endpoints.append(new(UpdateMetadataEndpoint, (port, host, listener, security_protocol)))
        # live_brokers.rack
        (n,) = unpack_h(buf, pos)
        pos += 2
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
        # live_brokers
        live_brokers.append(new(UpdateMetadataBroker, (id_, "", 0, endpoints, rack)))
    # the message
    return new(
        UpdateMetadataRequest, (controller_id, False, 0, controller_epoch, broker_epoch, (), topic_states, live_brokers)
    )


def decode_v6(buf: memoryview) -> UpdateMetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topic_states
    controller_id, controller_epoch, broker_epoch, n = unpack_iiqB(buf, pos)
    # topic_states
    pos += 17
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 3 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 276
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_states = []
    for _ in range(n):
        # topic_states.topic_name
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topic_states.partition_states
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 24 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 580
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_states = []
        for _ in range(n):
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            partition_index, controller_epoch_2, leader, leader_epoch, n = unpack_iiiiB(buf, pos)
            # topic_states.partition_states.isr
            pos += 17
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
            zk_version, n = unpack_iB(buf, pos)
            # topic_states.partition_states.replicas
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.offline_replicas
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_states.partition_states
            partition_states.append(
                new(
                    UpdateMetadataPartitionState,
                    (
                        "",
                        partition_index,
                        controller_epoch_2,
                        leader,
                        leader_epoch,
                        isr,
                        zk_version,
                        replicas,
                        offline_replicas,
                    ),
                )
            )
        # topic_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topic_states
        topic_states.append(new(UpdateMetadataTopicState, (topic_name, ZERO_UUID, partition_states)))
    # live_brokers
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 7 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 324
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(n):
        # live_brokers.id to live_brokers.endpoints
        id_, n = unpack_iB(buf, pos)
        # live_brokers.endpoints
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 9 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 340
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(n):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_iB(buf, pos)
            # live_brokers.endpoints.host
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.listener
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            listener = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints.tags
            security_protocol, n = unpack_hB(buf, pos)
            # live_brokers.endpoints.tags
            pos += 3
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # live_brokers.endpoints
            endpoints.append(new(UpdateMetadataEndpoint, (port, host, listener, security_protocol)))
        # live_brokers.rack
        n = buf[pos]
        pos += 1
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
        # live_brokers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # live_brokers
        live_brokers.append(new(UpdateMetadataBroker, (id_, "", 0, endpoints, rack)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        UpdateMetadataRequest, (controller_id, False, 0, controller_epoch, broker_epoch, (), topic_states, live_brokers)
    )


def decode_v7(buf: memoryview) -> UpdateMetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topic_states
    controller_id, controller_epoch, broker_epoch, n = unpack_iiqB(buf, pos)
    # topic_states
    pos += 17
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 19 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 340
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_states = []
    for _ in range(n):
        # topic_states.topic_name
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topic_states.topic_id to topic_states.partition_states
        topic_id, n = unpack_16sB(buf, pos)
        # topic_states.partition_states
        pos += 17
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 24 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 580
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_states = []
        for _ in range(n):
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            partition_index, controller_epoch_2, leader, leader_epoch, n = unpack_iiiiB(buf, pos)
            # topic_states.partition_states.isr
            pos += 17
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
            zk_version, n = unpack_iB(buf, pos)
            # topic_states.partition_states.replicas
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.offline_replicas
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_states.partition_states
            partition_states.append(
                new(
                    UpdateMetadataPartitionState,
                    (
                        "",
                        partition_index,
                        controller_epoch_2,
                        leader,
                        leader_epoch,
                        isr,
                        zk_version,
                        replicas,
                        offline_replicas,
                    ),
                )
            )
        # topic_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topic_states
        topic_states.append(new(UpdateMetadataTopicState, (topic_name, topic_id, partition_states)))
    # live_brokers
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 7 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 324
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(n):
        # live_brokers.id to live_brokers.endpoints
        id_, n = unpack_iB(buf, pos)
        # live_brokers.endpoints
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 9 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 340
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(n):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_iB(buf, pos)
            # live_brokers.endpoints.host
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.listener
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            listener = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints.tags
            security_protocol, n = unpack_hB(buf, pos)
            # live_brokers.endpoints.tags
            pos += 3
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # live_brokers.endpoints
            endpoints.append(new(UpdateMetadataEndpoint, (port, host, listener, security_protocol)))
        # live_brokers.rack
        n = buf[pos]
        pos += 1
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
        # live_brokers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # live_brokers
        live_brokers.append(new(UpdateMetadataBroker, (id_, "", 0, endpoints, rack)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        UpdateMetadataRequest, (controller_id, False, 0, controller_epoch, broker_epoch, (), topic_states, live_brokers)
    )


def decode_v8(buf: memoryview) -> UpdateMetadataRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topic_states
    controller_id, is_kraft_controller, controller_epoch, broker_epoch, n = unpack_iB0iqB(buf, pos)
    # topic_states
    pos += 18
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 19 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 340
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_states = []
    for _ in range(n):
        # topic_states.topic_name
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topic_states.topic_id to topic_states.partition_states
        topic_id, n = unpack_16sB(buf, pos)
        # topic_states.partition_states
        pos += 17
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 24 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 580
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_states = []
        for _ in range(n):
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            partition_index, controller_epoch_2, leader, leader_epoch, n = unpack_iiiiB(buf, pos)
            # topic_states.partition_states.isr
            pos += 17
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
            zk_version, n = unpack_iB(buf, pos)
            # topic_states.partition_states.replicas
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.offline_replicas
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_states.partition_states
            partition_states.append(
                new(
                    UpdateMetadataPartitionState,
                    (
                        "",
                        partition_index,
                        controller_epoch_2,
                        leader,
                        leader_epoch,
                        isr,
                        zk_version,
                        replicas,
                        offline_replicas,
                    ),
                )
            )
        # topic_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topic_states
        topic_states.append(new(UpdateMetadataTopicState, (topic_name, topic_id, partition_states)))
    # live_brokers
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 7 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 324
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(n):
        # live_brokers.id to live_brokers.endpoints
        id_, n = unpack_iB(buf, pos)
        # live_brokers.endpoints
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 9 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 340
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(n):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_iB(buf, pos)
            # live_brokers.endpoints.host
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.listener
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            listener = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints.tags
            security_protocol, n = unpack_hB(buf, pos)
            # live_brokers.endpoints.tags
            pos += 3
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # live_brokers.endpoints
            endpoints.append(new(UpdateMetadataEndpoint, (port, host, listener, security_protocol)))
        # live_brokers.rack
        n = buf[pos]
        pos += 1
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
        # live_brokers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # live_brokers
        live_brokers.append(new(UpdateMetadataBroker, (id_, "", 0, endpoints, rack)))
    # the message
    type_ = 0
    # tags
    n = buf[pos]
    pos += 1
    if n:
        n, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        for _ in range(n):
            tag = buf[pos]
            pos += 1
            if tag > 127:
                tag, pos = read_uvarint(buf, pos - 1)
            tag_size = buf[pos]
            pos += 1
            if tag_size > 127:
                tag_size, pos = read_uvarint(buf, pos - 1)
            tag_stop = pos + tag_size
            if tag_stop > end:
                raise Malformed(f"{tag_size} bytes announced for tag {tag}, {end - pos} remain")
            if tag == 0:
                # tags.type
                (type_,) = unpack_b(buf, pos)
                pos += 1
                if pos != tag_stop:
                    raise Malformed("content and its size disagree")
            # tags
            pos = tag_stop
    # the message
    return new(
        UpdateMetadataRequest,
        (controller_id, is_kraft_controller, type_, controller_epoch, broker_epoch, (), topic_states, live_brokers),
    )


DECODERS: Final[dict[int, Callable[[memoryview], UpdateMetadataRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v3,
    4: decode_v4,
    5: decode_v5,
    6: decode_v6,
    7: decode_v7,
    8: decode_v8,
}
PLACES: Final = """\
40 128 135 238 245 361 368 494 501 649 656 818 824 1048 1054 1279 1285 1505 1532 the message
44 139 249 372 505 controller_id to ungrouped_partition_states
46 93 141 188 251 298 374 421 507 566 ungrouped_partition_states
57 152 262 385 518 ungrouped_partition_states.topic_name
67 162 272 395 528 ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
69 164 274 397 530 ungrouped_partition_states.isr
80 175 285 408 541 ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
82 177 287 410 543 ungrouped_partition_states.replicas
100 125 195 236 305 359 428 492 583 647 752 816 950 1041 1181 1272 1412 1503 live_brokers
112 live_brokers.id to live_brokers.v0_host
114 live_brokers.v0_host
123 live_brokers.v0_port to live_brokers
207 317 440 595 764 965 1196 1427 live_brokers.id to live_brokers.endpoints
209 233 319 343 442 476 597 631 766 800 967 1018 1198 1249 1429 1480 live_brokers.endpoints
220 330 453 608 777 981 1212 1443 live_brokers.endpoints.port to live_brokers.endpoints.host
222 332 455 610 779 983 1214 1445 live_brokers.endpoints.host
231 341 474 629 798 live_brokers.endpoints.security_protocol to live_brokers.endpoints
346 479 634 803 1020 1251 1482 live_brokers.rack
464 619 788 997 1228 1459 live_brokers.endpoints.listener
554 ungrouped_partition_states.offline_replicas
660 828 1058 1289 controller_id to topic_states
662 750 830 948 1060 1179 1291 1410 topic_states
673 844 1074 1305 topic_states.topic_name
683 733 859 926 1091 1157 1322 1388 topic_states.partition_states
695 874 1105 1336 topic_states.partition_states.partition_index to topic_states.partition_states.isr
697 876 1107 1338 topic_states.partition_states.isr
708 890 1121 1352 topic_states.partition_states.zk_version to topic_states.partition_states.replicas
710 892 1123 1354 topic_states.partition_states.replicas
721 906 1137 1368 topic_states.partition_states.offline_replicas
921 1152 1383 topic_states.partition_states.tags
943 1174 1405 topic_states.tags
1012 1243 1474 live_brokers.endpoints.security_protocol to live_brokers.endpoints.tags
1014 1245 1476 live_brokers.endpoints.tags
1036 1267 1498 live_brokers.tags
1043 1274 1507 1530 tags
1089 1320 topic_states.topic_id to topic_states.partition_states
1525 tags.type
"""
