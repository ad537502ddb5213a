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
    controller_id, controller_epoch, ungrouped_partition_states_count = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if ungrouped_partition_states_count < 0:
        raise Malformed(f"invalid length {ungrouped_partition_states_count}")
    if ungrouped_partition_states_count * 30 > end - pos:
        raise Malformed(f"{ungrouped_partition_states_count} elements announced, {end - pos} bytes remain")
    budget -= ungrouped_partition_states_count * 572
    if budget < 0:
        raise Malformed(
            f"{ungrouped_partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
        )
    ungrouped_partition_states = []
    for _ in range(ungrouped_partition_states_count):
        # ungrouped_partition_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        partition_index, controller_epoch_2, leader, leader_epoch, isr_count = unpack_iiiii(buf, pos)
        # ungrouped_partition_states.isr
        pos += 20
        if isr_count < 0:
            raise Malformed(f"invalid length {isr_count}")
        if isr_count * 4 > end - pos:
            raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
        budget -= isr_count * 52
        if budget < 0:
            raise Malformed(f"{isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        isr = list(unpack_from(f">{isr_count}i", buf, pos))
        pos += isr_count * 4
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        zk_version, replicas_count = unpack_ii(buf, pos)
        # ungrouped_partition_states.replicas
        pos += 8
        if replicas_count < 0:
            raise Malformed(f"invalid length {replicas_count}")
        if replicas_count * 4 > end - pos:
            raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
        budget -= replicas_count * 52
        if budget < 0:
            raise Malformed(f"{replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
        pos += replicas_count * 4
        # ungrouped_partition_states
        ungrouped_partition_states.append(
            new(
                UpdateMetadataPartitionState,
                (topic_name, partition_index, controller_epoch_2, leader, leader_epoch, isr, zk_version, replicas, ()),
            )
        )
    # live_brokers
    (live_brokers_count,) = unpack_i(buf, pos)
    pos += 4
    if live_brokers_count < 0:
        raise Malformed(f"invalid length {live_brokers_count}")
    if live_brokers_count * 10 > end - pos:
        raise Malformed(f"{live_brokers_count} elements announced, {end - pos} bytes remain")
    budget -= live_brokers_count * 268
    if budget < 0:
        raise Malformed(f"{live_brokers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(live_brokers_count):
        # live_brokers.id to live_brokers.v0_host
        id_, n = unpack_ih(buf, pos)
        # live_brokers.v0_host
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
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
    controller_id, controller_epoch, ungrouped_partition_states_count = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if ungrouped_partition_states_count < 0:
        raise Malformed(f"invalid length {ungrouped_partition_states_count}")
    if ungrouped_partition_states_count * 30 > end - pos:
        raise Malformed(f"{ungrouped_partition_states_count} elements announced, {end - pos} bytes remain")
    budget -= ungrouped_partition_states_count * 572
    if budget < 0:
        raise Malformed(
            f"{ungrouped_partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
        )
    ungrouped_partition_states = []
    for _ in range(ungrouped_partition_states_count):
        # ungrouped_partition_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        partition_index, controller_epoch_2, leader, leader_epoch, isr_count = unpack_iiiii(buf, pos)
        # ungrouped_partition_states.isr
        pos += 20
        if isr_count < 0:
            raise Malformed(f"invalid length {isr_count}")
        if isr_count * 4 > end - pos:
            raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
        budget -= isr_count * 52
        if budget < 0:
            raise Malformed(f"{isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        isr = list(unpack_from(f">{isr_count}i", buf, pos))
        pos += isr_count * 4
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        zk_version, replicas_count = unpack_ii(buf, pos)
        # ungrouped_partition_states.replicas
        pos += 8
        if replicas_count < 0:
            raise Malformed(f"invalid length {replicas_count}")
        if replicas_count * 4 > end - pos:
            raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
        budget -= replicas_count * 52
        if budget < 0:
            raise Malformed(f"{replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
        pos += replicas_count * 4
        # ungrouped_partition_states
        ungrouped_partition_states.append(
            new(
                UpdateMetadataPartitionState,
                (topic_name, partition_index, controller_epoch_2, leader, leader_epoch, isr, zk_version, replicas, ()),
            )
        )
    # live_brokers
    (live_brokers_count,) = unpack_i(buf, pos)
    pos += 4
    if live_brokers_count < 0:
        raise Malformed(f"invalid length {live_brokers_count}")
    if live_brokers_count * 8 > end - pos:
        raise Malformed(f"{live_brokers_count} elements announced, {end - pos} bytes remain")
    budget -= live_brokers_count * 244
    if budget < 0:
        raise Malformed(f"{live_brokers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(live_brokers_count):
        # live_brokers.id to live_brokers.endpoints
        id_, endpoints_count = unpack_ii(buf, pos)
        # live_brokers.endpoints
        pos += 8
        if endpoints_count < 0:
            raise Malformed(f"invalid length {endpoints_count}")
        if endpoints_count * 8 > end - pos:
            raise Malformed(f"{endpoints_count} elements announced, {end - pos} bytes remain")
        budget -= endpoints_count * 260
        if budget < 0:
            raise Malformed(f"{endpoints_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(endpoints_count):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_ih(buf, pos)
            # live_brokers.endpoints.host
            pos += 6
            if n < 0:
                raise Malformed(f"invalid length {n}")
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
    controller_id, controller_epoch, ungrouped_partition_states_count = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if ungrouped_partition_states_count < 0:
        raise Malformed(f"invalid length {ungrouped_partition_states_count}")
    if ungrouped_partition_states_count * 30 > end - pos:
        raise Malformed(f"{ungrouped_partition_states_count} elements announced, {end - pos} bytes remain")
    budget -= ungrouped_partition_states_count * 572
    if budget < 0:
        raise Malformed(
            f"{ungrouped_partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
        )
    ungrouped_partition_states = []
    for _ in range(ungrouped_partition_states_count):
        # ungrouped_partition_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        partition_index, controller_epoch_2, leader, leader_epoch, isr_count = unpack_iiiii(buf, pos)
        # ungrouped_partition_states.isr
        pos += 20
        if isr_count < 0:
            raise Malformed(f"invalid length {isr_count}")
        if isr_count * 4 > end - pos:
            raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
        budget -= isr_count * 52
        if budget < 0:
            raise Malformed(f"{isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        isr = list(unpack_from(f">{isr_count}i", buf, pos))
        pos += isr_count * 4
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        zk_version, replicas_count = unpack_ii(buf, pos)
        # ungrouped_partition_states.replicas
        pos += 8
        if replicas_count < 0:
            raise Malformed(f"invalid length {replicas_count}")
        if replicas_count * 4 > end - pos:
            raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
        budget -= replicas_count * 52
        if budget < 0:
            raise Malformed(f"{replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
        pos += replicas_count * 4
        # ungrouped_partition_states
        ungrouped_partition_states.append(
            new(
                UpdateMetadataPartitionState,
                (topic_name, partition_index, controller_epoch_2, leader, leader_epoch, isr, zk_version, replicas, ()),
            )
        )
    # live_brokers
    (live_brokers_count,) = unpack_i(buf, pos)
    pos += 4
    if live_brokers_count < 0:
        raise Malformed(f"invalid length {live_brokers_count}")
    if live_brokers_count * 10 > end - pos:
        raise Malformed(f"{live_brokers_count} elements announced, {end - pos} bytes remain")
    budget -= live_brokers_count * 324
    if budget < 0:
        raise Malformed(f"{live_brokers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(live_brokers_count):
        # live_brokers.id to live_brokers.endpoints
        id_, endpoints_count = unpack_ii(buf, pos)
        # live_brokers.endpoints
        pos += 8
        if endpoints_count < 0:
            raise Malformed(f"invalid length {endpoints_count}")
        if endpoints_count * 8 > end - pos:
            raise Malformed(f"{endpoints_count} elements announced, {end - pos} bytes remain")
        budget -= endpoints_count * 260
        if budget < 0:
            raise Malformed(f"{endpoints_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(endpoints_count):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_ih(buf, pos)
            # live_brokers.endpoints.host
            pos += 6
            if n < 0:
                raise Malformed(f"invalid length {n}")
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
    controller_id, controller_epoch, ungrouped_partition_states_count = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if ungrouped_partition_states_count < 0:
        raise Malformed(f"invalid length {ungrouped_partition_states_count}")
    if ungrouped_partition_states_count * 30 > end - pos:
        raise Malformed(f"{ungrouped_partition_states_count} elements announced, {end - pos} bytes remain")
    budget -= ungrouped_partition_states_count * 572
    if budget < 0:
        raise Malformed(
            f"{ungrouped_partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
        )
    ungrouped_partition_states = []
    for _ in range(ungrouped_partition_states_count):
        # ungrouped_partition_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        partition_index, controller_epoch_2, leader, leader_epoch, isr_count = unpack_iiiii(buf, pos)
        # ungrouped_partition_states.isr
        pos += 20
        if isr_count < 0:
            raise Malformed(f"invalid length {isr_count}")
        if isr_count * 4 > end - pos:
            raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
        budget -= isr_count * 52
        if budget < 0:
            raise Malformed(f"{isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        isr = list(unpack_from(f">{isr_count}i", buf, pos))
        pos += isr_count * 4
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        zk_version, replicas_count = unpack_ii(buf, pos)
        # ungrouped_partition_states.replicas
        pos += 8
        if replicas_count < 0:
            raise Malformed(f"invalid length {replicas_count}")
        if replicas_count * 4 > end - pos:
            raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
        budget -= replicas_count * 52
        if budget < 0:
            raise Malformed(f"{replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
        pos += replicas_count * 4
        # ungrouped_partition_states
        ungrouped_partition_states.append(
            new(
                UpdateMetadataPartitionState,
                (topic_name, partition_index, controller_epoch_2, leader, leader_epoch, isr, zk_version, replicas, ()),
            )
        )
    # live_brokers
    (live_brokers_count,) = unpack_i(buf, pos)
    pos += 4
    if live_brokers_count < 0:
        raise Malformed(f"invalid length {live_brokers_count}")
    if live_brokers_count * 10 > end - pos:
        raise Malformed(f"{live_brokers_count} elements announced, {end - pos} bytes remain")
    budget -= live_brokers_count * 324
    if budget < 0:
        raise Malformed(f"{live_brokers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(live_brokers_count):
        # live_brokers.id to live_brokers.endpoints
        id_, endpoints_count = unpack_ii(buf, pos)
        # live_brokers.endpoints
        pos += 8
        if endpoints_count < 0:
            raise Malformed(f"invalid length {endpoints_count}")
        if endpoints_count * 10 > end - pos:
            raise Malformed(f"{endpoints_count} elements announced, {end - pos} bytes remain")
        budget -= endpoints_count * 340
        if budget < 0:
            raise Malformed(f"{endpoints_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(endpoints_count):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_ih(buf, pos)
            # live_brokers.endpoints.host
            pos += 6
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.listener
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
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
    controller_id, controller_epoch, ungrouped_partition_states_count = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if ungrouped_partition_states_count < 0:
        raise Malformed(f"invalid length {ungrouped_partition_states_count}")
    if ungrouped_partition_states_count * 34 > end - pos:
        raise Malformed(f"{ungrouped_partition_states_count} elements announced, {end - pos} bytes remain")
    budget -= ungrouped_partition_states_count * 660
    if budget < 0:
        raise Malformed(
            f"{ungrouped_partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
        )
    ungrouped_partition_states = []
    for _ in range(ungrouped_partition_states_count):
        # ungrouped_partition_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        partition_index, controller_epoch_2, leader, leader_epoch, isr_count = unpack_iiiii(buf, pos)
        # ungrouped_partition_states.isr
        pos += 20
        if isr_count < 0:
            raise Malformed(f"invalid length {isr_count}")
        if isr_count * 4 > end - pos:
            raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
        budget -= isr_count * 52
        if budget < 0:
            raise Malformed(f"{isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        isr = list(unpack_from(f">{isr_count}i", buf, pos))
        pos += isr_count * 4
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        zk_version, replicas_count = unpack_ii(buf, pos)
        # ungrouped_partition_states.replicas
        pos += 8
        if replicas_count < 0:
            raise Malformed(f"invalid length {replicas_count}")
        if replicas_count * 4 > end - pos:
            raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
        budget -= replicas_count * 52
        if budget < 0:
            raise Malformed(f"{replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
        pos += replicas_count * 4
        # ungrouped_partition_states.offline_replicas
        (offline_replicas_count,) = unpack_i(buf, pos)
        pos += 4
        if offline_replicas_count < 0:
            raise Malformed(f"invalid length {offline_replicas_count}")
        if offline_replicas_count * 4 > end - pos:
            raise Malformed(f"{offline_replicas_count} elements announced, {end - pos} bytes remain")
        budget -= offline_replicas_count * 52
        if budget < 0:
            raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
        pos += offline_replicas_count * 4
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
    (live_brokers_count,) = unpack_i(buf, pos)
    pos += 4
    if live_brokers_count < 0:
        raise Malformed(f"invalid length {live_brokers_count}")
    if live_brokers_count * 10 > end - pos:
        raise Malformed(f"{live_brokers_count} elements announced, {end - pos} bytes remain")
    budget -= live_brokers_count * 324
    if budget < 0:
        raise Malformed(f"{live_brokers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(live_brokers_count):
        # live_brokers.id to live_brokers.endpoints
        id_, endpoints_count = unpack_ii(buf, pos)
        # live_brokers.endpoints
        pos += 8
        if endpoints_count < 0:
            raise Malformed(f"invalid length {endpoints_count}")
        if endpoints_count * 10 > end - pos:
            raise Malformed(f"{endpoints_count} elements announced, {end - pos} bytes remain")
        budget -= endpoints_count * 340
        if budget < 0:
            raise Malformed(f"{endpoints_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(endpoints_count):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_ih(buf, pos)
            # live_brokers.endpoints.host
            pos += 6
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.listener
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
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
    controller_id, controller_epoch, broker_epoch, topic_states_count = unpack_iiqi(buf, pos)
    # topic_states
    pos += 20
    if topic_states_count < 0:
        raise Malformed(f"invalid length {topic_states_count}")
    if topic_states_count * 6 > end - pos:
        raise Malformed(f"{topic_states_count} elements announced, {end - pos} bytes remain")
    budget -= topic_states_count * 276
    if budget < 0:
        raise Malformed(f"{topic_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_states = []
    for _ in range(topic_states_count):
        # topic_states.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topic_states.partition_states
        (partition_states_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_states_count < 0:
            raise Malformed(f"invalid length {partition_states_count}")
        if partition_states_count * 32 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 580
        if budget < 0:
            raise Malformed(f"{partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_states = []
        for _ in range(partition_states_count):
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            partition_index, controller_epoch_2, leader, leader_epoch, isr_count = unpack_iiiii(buf, pos)
            # topic_states.partition_states.isr
            pos += 20
            if isr_count < 0:
                raise Malformed(f"invalid length {isr_count}")
            if isr_count * 4 > end - pos:
                raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
            budget -= isr_count * 52
            if budget < 0:
                raise Malformed(f"{isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{isr_count}i", buf, pos))
            pos += isr_count * 4
            # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
            zk_version, replicas_count = unpack_ii(buf, pos)
            # topic_states.partition_states.replicas
            pos += 8
            if replicas_count < 0:
                raise Malformed(f"invalid length {replicas_count}")
            if replicas_count * 4 > end - pos:
                raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
            budget -= replicas_count * 52
            if budget < 0:
                raise Malformed(f"{replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
            pos += replicas_count * 4
            # topic_states.partition_states.offline_replicas
            (offline_replicas_count,) = unpack_i(buf, pos)
            pos += 4
            if offline_replicas_count < 0:
                raise Malformed(f"invalid length {offline_replicas_count}")
            if offline_replicas_count * 4 > end - pos:
                raise Malformed(f"{offline_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= offline_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
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
    (live_brokers_count,) = unpack_i(buf, pos)
    pos += 4
    if live_brokers_count < 0:
        raise Malformed(f"invalid length {live_brokers_count}")
    if live_brokers_count * 10 > end - pos:
        raise Malformed(f"{live_brokers_count} elements announced, {end - pos} bytes remain")
    budget -= live_brokers_count * 324
    if budget < 0:
        raise Malformed(f"{live_brokers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(live_brokers_count):
        # live_brokers.id to live_brokers.endpoints
        id_, endpoints_count = unpack_ii(buf, pos)
        # live_brokers.endpoints
        pos += 8
        if endpoints_count < 0:
            raise Malformed(f"invalid length {endpoints_count}")
        if endpoints_count * 10 > end - pos:
            raise Malformed(f"{endpoints_count} elements announced, {end - pos} bytes remain")
        budget -= endpoints_count * 340
        if budget < 0:
            raise Malformed(f"{endpoints_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(endpoints_count):
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            port, n = unpack_ih(buf, pos)
            # live_brokers.endpoints.host
            pos += 6
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # live_brokers.endpoints.listener
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
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
    controller_id, controller_epoch, broker_epoch, topic_states_count = unpack_iiqB(buf, pos)
    # topic_states
    pos += 17
    if topic_states_count > 127:
        topic_states_count, pos = read_uvarint(buf, pos - 1)
    topic_states_count -= 1
    if topic_states_count < 0:
        raise Malformed(f"invalid length {topic_states_count}")
    if topic_states_count * 3 > end - pos:
        raise Malformed(f"{topic_states_count} elements announced, {end - pos} bytes remain")
    budget -= topic_states_count * 276
    if budget < 0:
        raise Malformed(f"{topic_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_states = []
    for _ in range(topic_states_count):
        # topic_states.topic_name
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
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topic_states.partition_states
        partition_states_count = buf[pos]
        pos += 1
        if partition_states_count > 127:
            partition_states_count, pos = read_uvarint(buf, pos - 1)
        partition_states_count -= 1
        if partition_states_count < 0:
            raise Malformed(f"invalid length {partition_states_count}")
        if partition_states_count * 24 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 580
        if budget < 0:
            raise Malformed(f"{partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_states = []
        for _ in range(partition_states_count):
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            partition_index, controller_epoch_2, leader, leader_epoch, isr_count = unpack_iiiiB(buf, pos)
            # topic_states.partition_states.isr
            pos += 17
            if isr_count > 127:
                isr_count, pos = read_uvarint(buf, pos - 1)
            isr_count -= 1
            if isr_count < 0:
                raise Malformed(f"invalid length {isr_count}")
            if isr_count * 4 > end - pos:
                raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
            budget -= isr_count * 52
            if budget < 0:
                raise Malformed(f"{isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{isr_count}i", buf, pos))
            pos += isr_count * 4
            # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
            zk_version, replicas_count = unpack_iB(buf, pos)
            # topic_states.partition_states.replicas
            pos += 5
            if replicas_count > 127:
                replicas_count, pos = read_uvarint(buf, pos - 1)
            replicas_count -= 1
            if replicas_count < 0:
                raise Malformed(f"invalid length {replicas_count}")
            if replicas_count * 4 > end - pos:
                raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
            budget -= replicas_count * 52
            if budget < 0:
                raise Malformed(f"{replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
            pos += replicas_count * 4
            # topic_states.partition_states.offline_replicas
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
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
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
    live_brokers_count = buf[pos]
    pos += 1
    if live_brokers_count > 127:
        live_brokers_count, pos = read_uvarint(buf, pos - 1)
    live_brokers_count -= 1
    if live_brokers_count < 0:
        raise Malformed(f"invalid length {live_brokers_count}")
    if live_brokers_count * 7 > end - pos:
        raise Malformed(f"{live_brokers_count} elements announced, {end - pos} bytes remain")
    budget -= live_brokers_count * 324
    if budget < 0:
        raise Malformed(f"{live_brokers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(live_brokers_count):
        # live_brokers.id to live_brokers.endpoints
        id_, endpoints_count = unpack_iB(buf, pos)
        # live_brokers.endpoints
        pos += 5
        if endpoints_count > 127:
            endpoints_count, pos = read_uvarint(buf, pos - 1)
        endpoints_count -= 1
        if endpoints_count < 0:
            raise Malformed(f"invalid length {endpoints_count}")
        if endpoints_count * 9 > end - pos:
            raise Malformed(f"{endpoints_count} elements announced, {end - pos} bytes remain")
        budget -= endpoints_count * 340
        if budget < 0:
            raise Malformed(f"{endpoints_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(endpoints_count):
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
                raise Malformed(f"invalid length {n}")
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
                raise Malformed(f"invalid length {n}")
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
    controller_id, controller_epoch, broker_epoch, topic_states_count = unpack_iiqB(buf, pos)
    # topic_states
    pos += 17
    if topic_states_count > 127:
        topic_states_count, pos = read_uvarint(buf, pos - 1)
    topic_states_count -= 1
    if topic_states_count < 0:
        raise Malformed(f"invalid length {topic_states_count}")
    if topic_states_count * 19 > end - pos:
        raise Malformed(f"{topic_states_count} elements announced, {end - pos} bytes remain")
    budget -= topic_states_count * 340
    if budget < 0:
        raise Malformed(f"{topic_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_states = []
    for _ in range(topic_states_count):
        # topic_states.topic_name
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
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topic_states.topic_id to topic_states.partition_states
        topic_id, partition_states_count = unpack_16sB(buf, pos)
        # topic_states.partition_states
        pos += 17
        if partition_states_count > 127:
            partition_states_count, pos = read_uvarint(buf, pos - 1)
        partition_states_count -= 1
        if partition_states_count < 0:
            raise Malformed(f"invalid length {partition_states_count}")
        if partition_states_count * 24 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 580
        if budget < 0:
            raise Malformed(f"{partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_states = []
        for _ in range(partition_states_count):
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            partition_index, controller_epoch_2, leader, leader_epoch, isr_count = unpack_iiiiB(buf, pos)
            # topic_states.partition_states.isr
            pos += 17
            if isr_count > 127:
                isr_count, pos = read_uvarint(buf, pos - 1)
            isr_count -= 1
            if isr_count < 0:
                raise Malformed(f"invalid length {isr_count}")
            if isr_count * 4 > end - pos:
                raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
            budget -= isr_count * 52
            if budget < 0:
                raise Malformed(f"{isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{isr_count}i", buf, pos))
            pos += isr_count * 4
            # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
            zk_version, replicas_count = unpack_iB(buf, pos)
            # topic_states.partition_states.replicas
            pos += 5
            if replicas_count > 127:
                replicas_count, pos = read_uvarint(buf, pos - 1)
            replicas_count -= 1
            if replicas_count < 0:
                raise Malformed(f"invalid length {replicas_count}")
            if replicas_count * 4 > end - pos:
                raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
            budget -= replicas_count * 52
            if budget < 0:
                raise Malformed(f"{replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
            pos += replicas_count * 4
            # topic_states.partition_states.offline_replicas
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
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
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
    live_brokers_count = buf[pos]
    pos += 1
    if live_brokers_count > 127:
        live_brokers_count, pos = read_uvarint(buf, pos - 1)
    live_brokers_count -= 1
    if live_brokers_count < 0:
        raise Malformed(f"invalid length {live_brokers_count}")
    if live_brokers_count * 7 > end - pos:
        raise Malformed(f"{live_brokers_count} elements announced, {end - pos} bytes remain")
    budget -= live_brokers_count * 324
    if budget < 0:
        raise Malformed(f"{live_brokers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(live_brokers_count):
        # live_brokers.id to live_brokers.endpoints
        id_, endpoints_count = unpack_iB(buf, pos)
        # live_brokers.endpoints
        pos += 5
        if endpoints_count > 127:
            endpoints_count, pos = read_uvarint(buf, pos - 1)
        endpoints_count -= 1
        if endpoints_count < 0:
            raise Malformed(f"invalid length {endpoints_count}")
        if endpoints_count * 9 > end - pos:
            raise Malformed(f"{endpoints_count} elements announced, {end - pos} bytes remain")
        budget -= endpoints_count * 340
        if budget < 0:
            raise Malformed(f"{endpoints_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(endpoints_count):
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
                raise Malformed(f"invalid length {n}")
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
                raise Malformed(f"invalid length {n}")
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
    controller_id, is_kraft_controller, controller_epoch, broker_epoch, topic_states_count = unpack_iB0iqB(buf, pos)
    # topic_states
    pos += 18
    if topic_states_count > 127:
        topic_states_count, pos = read_uvarint(buf, pos - 1)
    topic_states_count -= 1
    if topic_states_count < 0:
        raise Malformed(f"invalid length {topic_states_count}")
    if topic_states_count * 19 > end - pos:
        raise Malformed(f"{topic_states_count} elements announced, {end - pos} bytes remain")
    budget -= topic_states_count * 340
    if budget < 0:
        raise Malformed(f"{topic_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_states = []
    for _ in range(topic_states_count):
        # topic_states.topic_name
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
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topic_states.topic_id to topic_states.partition_states
        topic_id, partition_states_count = unpack_16sB(buf, pos)
        # topic_states.partition_states
        pos += 17
        if partition_states_count > 127:
            partition_states_count, pos = read_uvarint(buf, pos - 1)
        partition_states_count -= 1
        if partition_states_count < 0:
            raise Malformed(f"invalid length {partition_states_count}")
        if partition_states_count * 24 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 580
        if budget < 0:
            raise Malformed(f"{partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_states = []
        for _ in range(partition_states_count):
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            partition_index, controller_epoch_2, leader, leader_epoch, isr_count = unpack_iiiiB(buf, pos)
            # topic_states.partition_states.isr
            pos += 17
            if isr_count > 127:
                isr_count, pos = read_uvarint(buf, pos - 1)
            isr_count -= 1
            if isr_count < 0:
                raise Malformed(f"invalid length {isr_count}")
            if isr_count * 4 > end - pos:
                raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
            budget -= isr_count * 52
            if budget < 0:
                raise Malformed(f"{isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{isr_count}i", buf, pos))
            pos += isr_count * 4
            # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
            zk_version, replicas_count = unpack_iB(buf, pos)
            # topic_states.partition_states.replicas
            pos += 5
            if replicas_count > 127:
                replicas_count, pos = read_uvarint(buf, pos - 1)
            replicas_count -= 1
            if replicas_count < 0:
                raise Malformed(f"invalid length {replicas_count}")
            if replicas_count * 4 > end - pos:
                raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
            budget -= replicas_count * 52
            if budget < 0:
                raise Malformed(f"{replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
            pos += replicas_count * 4
            # topic_states.partition_states.offline_replicas
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
                raise Malformed(f"{offline_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            offline_replicas = list(unpack_from(f">{offline_replicas_count}i", buf, pos))
            pos += offline_replicas_count * 4
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
    live_brokers_count = buf[pos]
    pos += 1
    if live_brokers_count > 127:
        live_brokers_count, pos = read_uvarint(buf, pos - 1)
    live_brokers_count -= 1
    if live_brokers_count < 0:
        raise Malformed(f"invalid length {live_brokers_count}")
    if live_brokers_count * 7 > end - pos:
        raise Malformed(f"{live_brokers_count} elements announced, {end - pos} bytes remain")
    budget -= live_brokers_count * 324
    if budget < 0:
        raise Malformed(f"{live_brokers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_brokers = []
    for _ in range(live_brokers_count):
        # live_brokers.id to live_brokers.endpoints
        id_, endpoints_count = unpack_iB(buf, pos)
        # live_brokers.endpoints
        pos += 5
        if endpoints_count > 127:
            endpoints_count, pos = read_uvarint(buf, pos - 1)
        endpoints_count -= 1
        if endpoints_count < 0:
            raise Malformed(f"invalid length {endpoints_count}")
        if endpoints_count * 9 > end - pos:
            raise Malformed(f"{endpoints_count} elements announced, {end - pos} bytes remain")
        budget -= endpoints_count * 340
        if budget < 0:
            raise Malformed(f"{endpoints_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        endpoints = []
        for _ in range(endpoints_count):
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
                raise Malformed(f"invalid length {n}")
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
                raise Malformed(f"invalid length {n}")
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
        tag_count, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        for _ in range(tag_count):
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
40 130 137 242 249 367 374 502 509 659 666 828 834 1058 1064 1289 1295 1515 1542 the message
44 141 253 378 513 controller_id to ungrouped_partition_states
46 95 143 192 255 304 380 429 515 576 ungrouped_partition_states
59 156 268 393 528 ungrouped_partition_states.topic_name
69 166 278 403 538 ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
71 168 280 405 540 ungrouped_partition_states.isr
82 179 291 416 551 ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
84 181 293 418 553 ungrouped_partition_states.replicas
102 127 199 240 311 365 436 500 593 657 762 826 960 1051 1191 1282 1422 1513 live_brokers
114 live_brokers.id to live_brokers.v0_host
116 live_brokers.v0_host
125 live_brokers.v0_port to live_brokers
211 323 448 605 774 975 1206 1437 live_brokers.id to live_brokers.endpoints
213 237 325 349 450 484 607 641 776 810 977 1028 1208 1259 1439 1490 live_brokers.endpoints
224 336 461 618 787 991 1222 1453 live_brokers.endpoints.port to live_brokers.endpoints.host
226 338 463 620 789 993 1224 1455 live_brokers.endpoints.host
235 347 482 639 808 live_brokers.endpoints.security_protocol to live_brokers.endpoints
352 487 644 813 1030 1261 1492 live_brokers.rack
472 629 798 1007 1238 1469 live_brokers.endpoints.listener
564 ungrouped_partition_states.offline_replicas
670 838 1068 1299 controller_id to topic_states
672 760 840 958 1070 1189 1301 1420 topic_states
683 854 1084 1315 topic_states.topic_name
693 743 869 936 1101 1167 1332 1398 topic_states.partition_states
705 884 1115 1346 topic_states.partition_states.partition_index to topic_states.partition_states.isr
707 886 1117 1348 topic_states.partition_states.isr
718 900 1131 1362 topic_states.partition_states.zk_version to topic_states.partition_states.replicas
720 902 1133 1364 topic_states.partition_states.replicas
731 916 1147 1378 topic_states.partition_states.offline_replicas
931 1162 1393 topic_states.partition_states.tags
953 1184 1415 topic_states.tags
1022 1253 1484 live_brokers.endpoints.security_protocol to live_brokers.endpoints.tags
1024 1255 1486 live_brokers.endpoints.tags
1046 1277 1508 live_brokers.tags
1053 1284 1517 1540 tags
1099 1330 topic_states.topic_id to topic_states.partition_states
1535 tags.type
"""
