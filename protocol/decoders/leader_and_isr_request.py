"""Decoders of LeaderAndIsrRequest, v0 to v7.

Made by `make codec` from protocol/schema/04_leader_and_isr.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.leader_and_isr_request import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_B0 = Struct(">?").unpack_from
unpack_B0B = Struct(">?B").unpack_from
unpack_B0bB = Struct(">?bB").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_iB0iqbB = Struct(">i?iqbB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ii = Struct(">ii").unpack_from
unpack_iii = Struct(">iii").unpack_from
unpack_iiiiB = Struct(">iiiiB").unpack_from
unpack_iiiii = Struct(">iiiii").unpack_from
unpack_iiqB = Struct(">iiqB").unpack_from
unpack_iiqbB = Struct(">iiqbB").unpack_from
unpack_iiqi = Struct(">iiqi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> LeaderAndIsrRequest:
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
    budget -= n * 596
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
        # ungrouped_partition_states.partition_epoch to ungrouped_partition_states.replicas
        partition_epoch, n = unpack_ii(buf, pos)
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
                LeaderAndIsrPartitionState,
                (
                    topic_name,
                    partition_index,
                    controller_epoch_2,
                    leader,
                    leader_epoch,
                    isr,
                    partition_epoch,
                    replicas,
                    (),
                    (),
                    False,
                    0,
                ),
            )
        )
    # live_leaders
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 252
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(n):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_ih(buf, pos)
        # live_leaders.host_name
        pos += 6
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # live_leaders.port to live_leaders
        (port,) = unpack_i(buf, pos)
        # live_leaders
        pos += 4
        live_leaders.append(new(LeaderAndIsrLiveLeader, (broker_id, host_name, port)))
    # the message
    return new(
        LeaderAndIsrRequest,
        (controller_id, False, controller_epoch, -1, 0, ungrouped_partition_states, (), live_leaders),
    )


def decode_v1(buf: memoryview) -> LeaderAndIsrRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to ungrouped_partition_states
    controller_id, controller_epoch, n = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 31 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 596
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
        # ungrouped_partition_states.partition_epoch to ungrouped_partition_states.replicas
        partition_epoch, n = unpack_ii(buf, pos)
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
        # ungrouped_partition_states.is_new to ungrouped_partition_states
        (is_new,) = unpack_B0(buf, pos)
        # ungrouped_partition_states
        pos += 1
        ungrouped_partition_states.append(
            new(
                LeaderAndIsrPartitionState,
                (
                    topic_name,
                    partition_index,
                    controller_epoch_2,
                    leader,
                    leader_epoch,
                    isr,
                    partition_epoch,
                    replicas,
                    (),
                    (),
                    is_new,
                    0,
                ),
            )
        )
    # live_leaders
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 252
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(n):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_ih(buf, pos)
        # live_leaders.host_name
        pos += 6
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # live_leaders.port to live_leaders
        (port,) = unpack_i(buf, pos)
        # live_leaders
        pos += 4
        live_leaders.append(new(LeaderAndIsrLiveLeader, (broker_id, host_name, port)))
    # the message
    return new(
        LeaderAndIsrRequest,
        (controller_id, False, controller_epoch, -1, 0, ungrouped_partition_states, (), live_leaders),
    )


def decode_v2(buf: memoryview) -> LeaderAndIsrRequest:
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
        if n * 29 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 516
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, n = unpack_ii(buf, pos)
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
            # topic_states.partition_states.is_new to topic_states.partition_states
            (is_new,) = unpack_B0(buf, pos)
            # topic_states.partition_states
            pos += 1
            partition_states.append(
                new(
                    LeaderAndIsrPartitionState,
                    (
                        "",
                        partition_index,
                        controller_epoch_2,
                        leader,
                        leader_epoch,
                        isr,
                        partition_epoch,
                        replicas,
                        (),
                        (),
                        is_new,
                        0,
                    ),
                )
            )
        # topic_states
        topic_states.append(new(LeaderAndIsrTopicState, (topic_name, ZERO_UUID, partition_states)))
    # live_leaders
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 252
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(n):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_ih(buf, pos)
        # live_leaders.host_name
        pos += 6
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # live_leaders.port to live_leaders
        (port,) = unpack_i(buf, pos)
        # live_leaders
        pos += 4
        live_leaders.append(new(LeaderAndIsrLiveLeader, (broker_id, host_name, port)))
    # the message
    return new(
        LeaderAndIsrRequest, (controller_id, False, controller_epoch, broker_epoch, 0, (), topic_states, live_leaders)
    )


def decode_v3(buf: memoryview) -> LeaderAndIsrRequest:
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
        if n * 37 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 692
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, n = unpack_ii(buf, pos)
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
            # topic_states.partition_states.adding_replicas
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            adding_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.removing_replicas
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 52
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            removing_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.is_new to topic_states.partition_states
            (is_new,) = unpack_B0(buf, pos)
            # topic_states.partition_states
            pos += 1
            partition_states.append(
                new(
                    LeaderAndIsrPartitionState,
                    (
                        "",
                        partition_index,
                        controller_epoch_2,
                        leader,
                        leader_epoch,
                        isr,
                        partition_epoch,
                        replicas,
                        adding_replicas,
                        removing_replicas,
                        is_new,
                        0,
                    ),
                )
            )
        # topic_states
        topic_states.append(new(LeaderAndIsrTopicState, (topic_name, ZERO_UUID, partition_states)))
    # live_leaders
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 252
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(n):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_ih(buf, pos)
        # live_leaders.host_name
        pos += 6
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        host_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # live_leaders.port to live_leaders
        (port,) = unpack_i(buf, pos)
        # live_leaders
        pos += 4
        live_leaders.append(new(LeaderAndIsrLiveLeader, (broker_id, host_name, port)))
    # the message
    return new(
        LeaderAndIsrRequest, (controller_id, False, controller_epoch, broker_epoch, 0, (), topic_states, live_leaders)
    )


def decode_v4(buf: memoryview) -> LeaderAndIsrRequest:
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
        if n * 26 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 692
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, n = unpack_iB(buf, pos)
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
            # topic_states.partition_states.adding_replicas
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
            adding_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.removing_replicas
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
            removing_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.is_new to topic_states.partition_states.tags
            is_new, n = unpack_B0B(buf, pos)
            # topic_states.partition_states.tags
            pos += 2
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_states.partition_states
            partition_states.append(
                new(
                    LeaderAndIsrPartitionState,
                    (
                        "",
                        partition_index,
                        controller_epoch_2,
                        leader,
                        leader_epoch,
                        isr,
                        partition_epoch,
                        replicas,
                        adding_replicas,
                        removing_replicas,
                        is_new,
                        0,
                    ),
                )
            )
        # topic_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topic_states
        topic_states.append(new(LeaderAndIsrTopicState, (topic_name, ZERO_UUID, partition_states)))
    # live_leaders
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 252
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(n):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_iB(buf, pos)
        # live_leaders.host_name
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
        host_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # live_leaders.port to live_leaders.tags
        port, n = unpack_iB(buf, pos)
        # live_leaders.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # live_leaders
        live_leaders.append(new(LeaderAndIsrLiveLeader, (broker_id, host_name, port)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        LeaderAndIsrRequest, (controller_id, False, controller_epoch, broker_epoch, 0, (), topic_states, live_leaders)
    )


def decode_v5(buf: memoryview) -> LeaderAndIsrRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topic_states
    controller_id, controller_epoch, broker_epoch, type_, n = unpack_iiqbB(buf, pos)
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
        if n * 26 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 692
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, n = unpack_iB(buf, pos)
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
            # topic_states.partition_states.adding_replicas
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
            adding_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.removing_replicas
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
            removing_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.is_new to topic_states.partition_states.tags
            is_new, n = unpack_B0B(buf, pos)
            # topic_states.partition_states.tags
            pos += 2
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_states.partition_states
            partition_states.append(
                new(
                    LeaderAndIsrPartitionState,
                    (
                        "",
                        partition_index,
                        controller_epoch_2,
                        leader,
                        leader_epoch,
                        isr,
                        partition_epoch,
                        replicas,
                        adding_replicas,
                        removing_replicas,
                        is_new,
                        0,
                    ),
                )
            )
        # topic_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topic_states
        topic_states.append(new(LeaderAndIsrTopicState, (topic_name, topic_id, partition_states)))
    # live_leaders
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 252
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(n):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_iB(buf, pos)
        # live_leaders.host_name
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
        host_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # live_leaders.port to live_leaders.tags
        port, n = unpack_iB(buf, pos)
        # live_leaders.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # live_leaders
        live_leaders.append(new(LeaderAndIsrLiveLeader, (broker_id, host_name, port)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        LeaderAndIsrRequest,
        (controller_id, False, controller_epoch, broker_epoch, type_, (), topic_states, live_leaders),
    )


def decode_v6(buf: memoryview) -> LeaderAndIsrRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topic_states
    controller_id, controller_epoch, broker_epoch, type_, n = unpack_iiqbB(buf, pos)
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
        if n * 27 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 724
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, n = unpack_iB(buf, pos)
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
            # topic_states.partition_states.adding_replicas
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
            adding_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.removing_replicas
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
            removing_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.is_new to topic_states.partition_states.tags
            is_new, leader_recovery_state, n = unpack_B0bB(buf, pos)
            # topic_states.partition_states.tags
            pos += 3
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_states.partition_states
            partition_states.append(
                new(
                    LeaderAndIsrPartitionState,
                    (
                        "",
                        partition_index,
                        controller_epoch_2,
                        leader,
                        leader_epoch,
                        isr,
                        partition_epoch,
                        replicas,
                        adding_replicas,
                        removing_replicas,
                        is_new,
                        leader_recovery_state,
                    ),
                )
            )
        # topic_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topic_states
        topic_states.append(new(LeaderAndIsrTopicState, (topic_name, topic_id, partition_states)))
    # live_leaders
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 252
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(n):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_iB(buf, pos)
        # live_leaders.host_name
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
        host_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # live_leaders.port to live_leaders.tags
        port, n = unpack_iB(buf, pos)
        # live_leaders.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # live_leaders
        live_leaders.append(new(LeaderAndIsrLiveLeader, (broker_id, host_name, port)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        LeaderAndIsrRequest,
        (controller_id, False, controller_epoch, broker_epoch, type_, (), topic_states, live_leaders),
    )


def decode_v7(buf: memoryview) -> LeaderAndIsrRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topic_states
    controller_id, is_kraft_controller, controller_epoch, broker_epoch, type_, n = unpack_iB0iqbB(buf, pos)
    # topic_states
    pos += 19
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
        if n * 27 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 724
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, n = unpack_iB(buf, pos)
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
            # topic_states.partition_states.adding_replicas
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
            adding_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.removing_replicas
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
            removing_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topic_states.partition_states.is_new to topic_states.partition_states.tags
            is_new, leader_recovery_state, n = unpack_B0bB(buf, pos)
            # topic_states.partition_states.tags
            pos += 3
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_states.partition_states
            partition_states.append(
                new(
                    LeaderAndIsrPartitionState,
                    (
                        "",
                        partition_index,
                        controller_epoch_2,
                        leader,
                        leader_epoch,
                        isr,
                        partition_epoch,
                        replicas,
                        adding_replicas,
                        removing_replicas,
                        is_new,
                        leader_recovery_state,
                    ),
                )
            )
        # topic_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topic_states
        topic_states.append(new(LeaderAndIsrTopicState, (topic_name, topic_id, partition_states)))
    # live_leaders
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 252
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(n):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_iB(buf, pos)
        # live_leaders.host_name
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
        host_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # live_leaders.port to live_leaders.tags
        port, n = unpack_iB(buf, pos)
        # live_leaders.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # live_leaders
        live_leaders.append(new(LeaderAndIsrLiveLeader, (broker_id, host_name, port)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        LeaderAndIsrRequest,
        (controller_id, is_kraft_controller, controller_epoch, broker_epoch, type_, (), topic_states, live_leaders),
    )


DECODERS: Final[dict[int, Callable[[memoryview], LeaderAndIsrRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v3,
    4: decode_v4,
    5: decode_v5,
    6: decode_v6,
    7: decode_v7,
}
PLACES: Final = """\
41 142 149 253 260 378 384 526 532 721 727 917 924 1114 1121 1311 the message
45 153 controller_id to ungrouped_partition_states
47 94 155 204 ungrouped_partition_states
58 166 ungrouped_partition_states.topic_name
68 176 ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
70 178 ungrouped_partition_states.isr
81 189 ungrouped_partition_states.partition_epoch to ungrouped_partition_states.replicas
83 191 ungrouped_partition_states.replicas
114 139 225 250 350 375 498 523 677 714 873 910 1070 1107 1267 1304 live_leaders
126 237 362 510 692 888 1085 1282 live_leaders.broker_id to live_leaders.host_name
128 239 364 512 694 890 1087 1284 live_leaders.host_name
137 248 373 521 live_leaders.port to live_leaders
202 ungrouped_partition_states.is_new to ungrouped_partition_states
264 388 536 731 928 1125 controller_id to topic_states
266 348 390 496 538 675 733 871 930 1068 1127 1265 topic_states
277 401 552 747 944 1141 topic_states.topic_name
287 327 411 475 567 650 764 846 961 1043 1158 1240 topic_states.partition_states
299 423 582 778 975 1172 topic_states.partition_states.partition_index to topic_states.partition_states.isr
301 425 584 780 977 1174 topic_states.partition_states.isr
312 436 598 794 991 1188 topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
314 438 600 796 993 1190 topic_states.partition_states.replicas
325 473 topic_states.partition_states.is_new to topic_states.partition_states
449 614 810 1007 1204 topic_states.partition_states.adding_replicas
461 629 825 1022 1219 topic_states.partition_states.removing_replicas
644 840 1037 1234 topic_states.partition_states.is_new to topic_states.partition_states.tags
646 842 1039 1236 topic_states.partition_states.tags
670 866 1063 1260 topic_states.tags
708 904 1101 1298 live_leaders.port to live_leaders.tags
710 906 1103 1300 live_leaders.tags
716 912 1109 1306 tags
762 959 1156 topic_states.topic_id to topic_states.partition_states
"""
