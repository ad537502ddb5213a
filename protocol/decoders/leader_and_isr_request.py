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
    controller_id, controller_epoch, ungrouped_partition_states_count = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if ungrouped_partition_states_count < 0:
        raise Malformed(f"invalid length {ungrouped_partition_states_count}")
    if ungrouped_partition_states_count * 30 > end - pos:
        raise Malformed(f"{ungrouped_partition_states_count} elements announced, {end - pos} bytes remain")
    budget -= ungrouped_partition_states_count * 596
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
        # ungrouped_partition_states.partition_epoch to ungrouped_partition_states.replicas
        partition_epoch, replicas_count = unpack_ii(buf, pos)
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
    (live_leaders_count,) = unpack_i(buf, pos)
    pos += 4
    if live_leaders_count < 0:
        raise Malformed(f"invalid length {live_leaders_count}")
    if live_leaders_count * 10 > end - pos:
        raise Malformed(f"{live_leaders_count} elements announced, {end - pos} bytes remain")
    budget -= live_leaders_count * 252
    if budget < 0:
        raise Malformed(f"{live_leaders_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(live_leaders_count):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_ih(buf, pos)
        # live_leaders.host_name
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
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
    controller_id, controller_epoch, ungrouped_partition_states_count = unpack_iii(buf, pos)
    # ungrouped_partition_states
    pos += 12
    if ungrouped_partition_states_count < 0:
        raise Malformed(f"invalid length {ungrouped_partition_states_count}")
    if ungrouped_partition_states_count * 31 > end - pos:
        raise Malformed(f"{ungrouped_partition_states_count} elements announced, {end - pos} bytes remain")
    budget -= ungrouped_partition_states_count * 596
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
        # ungrouped_partition_states.partition_epoch to ungrouped_partition_states.replicas
        partition_epoch, replicas_count = unpack_ii(buf, pos)
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
    (live_leaders_count,) = unpack_i(buf, pos)
    pos += 4
    if live_leaders_count < 0:
        raise Malformed(f"invalid length {live_leaders_count}")
    if live_leaders_count * 10 > end - pos:
        raise Malformed(f"{live_leaders_count} elements announced, {end - pos} bytes remain")
    budget -= live_leaders_count * 252
    if budget < 0:
        raise Malformed(f"{live_leaders_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(live_leaders_count):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_ih(buf, pos)
        # live_leaders.host_name
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
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
        if partition_states_count * 29 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 516
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, replicas_count = unpack_ii(buf, pos)
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
    (live_leaders_count,) = unpack_i(buf, pos)
    pos += 4
    if live_leaders_count < 0:
        raise Malformed(f"invalid length {live_leaders_count}")
    if live_leaders_count * 10 > end - pos:
        raise Malformed(f"{live_leaders_count} elements announced, {end - pos} bytes remain")
    budget -= live_leaders_count * 252
    if budget < 0:
        raise Malformed(f"{live_leaders_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(live_leaders_count):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_ih(buf, pos)
        # live_leaders.host_name
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
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
        if partition_states_count * 37 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 692
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, replicas_count = unpack_ii(buf, pos)
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
            # topic_states.partition_states.adding_replicas
            (adding_replicas_count,) = unpack_i(buf, pos)
            pos += 4
            if adding_replicas_count < 0:
                raise Malformed(f"invalid length {adding_replicas_count}")
            if adding_replicas_count * 4 > end - pos:
                raise Malformed(f"{adding_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= adding_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{adding_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            adding_replicas = list(unpack_from(f">{adding_replicas_count}i", buf, pos))
            pos += adding_replicas_count * 4
            # topic_states.partition_states.removing_replicas
            (removing_replicas_count,) = unpack_i(buf, pos)
            pos += 4
            if removing_replicas_count < 0:
                raise Malformed(f"invalid length {removing_replicas_count}")
            if removing_replicas_count * 4 > end - pos:
                raise Malformed(f"{removing_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= removing_replicas_count * 52
            if budget < 0:
                raise Malformed(
                    f"{removing_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            removing_replicas = list(unpack_from(f">{removing_replicas_count}i", buf, pos))
            pos += removing_replicas_count * 4
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
    (live_leaders_count,) = unpack_i(buf, pos)
    pos += 4
    if live_leaders_count < 0:
        raise Malformed(f"invalid length {live_leaders_count}")
    if live_leaders_count * 10 > end - pos:
        raise Malformed(f"{live_leaders_count} elements announced, {end - pos} bytes remain")
    budget -= live_leaders_count * 252
    if budget < 0:
        raise Malformed(f"{live_leaders_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(live_leaders_count):
        # live_leaders.broker_id to live_leaders.host_name
        broker_id, n = unpack_ih(buf, pos)
        # live_leaders.host_name
        pos += 6
        if n < 0:
            raise Malformed(f"invalid length {n}")
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
        if partition_states_count * 26 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 692
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, replicas_count = unpack_iB(buf, pos)
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
            # topic_states.partition_states.adding_replicas
            adding_replicas_count = buf[pos]
            pos += 1
            if adding_replicas_count > 127:
                adding_replicas_count, pos = read_uvarint(buf, pos - 1)
            adding_replicas_count -= 1
            if adding_replicas_count < 0:
                raise Malformed(f"invalid length {adding_replicas_count}")
            if adding_replicas_count * 4 > end - pos:
                raise Malformed(f"{adding_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= adding_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{adding_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            adding_replicas = list(unpack_from(f">{adding_replicas_count}i", buf, pos))
            pos += adding_replicas_count * 4
            # topic_states.partition_states.removing_replicas
            removing_replicas_count = buf[pos]
            pos += 1
            if removing_replicas_count > 127:
                removing_replicas_count, pos = read_uvarint(buf, pos - 1)
            removing_replicas_count -= 1
            if removing_replicas_count < 0:
                raise Malformed(f"invalid length {removing_replicas_count}")
            if removing_replicas_count * 4 > end - pos:
                raise Malformed(f"{removing_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= removing_replicas_count * 52
            if budget < 0:
                raise Malformed(
                    f"{removing_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            removing_replicas = list(unpack_from(f">{removing_replicas_count}i", buf, pos))
            pos += removing_replicas_count * 4
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
    live_leaders_count = buf[pos]
    pos += 1
    if live_leaders_count > 127:
        live_leaders_count, pos = read_uvarint(buf, pos - 1)
    live_leaders_count -= 1
    if live_leaders_count < 0:
        raise Malformed(f"invalid length {live_leaders_count}")
    if live_leaders_count * 10 > end - pos:
        raise Malformed(f"{live_leaders_count} elements announced, {end - pos} bytes remain")
    budget -= live_leaders_count * 252
    if budget < 0:
        raise Malformed(f"{live_leaders_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(live_leaders_count):
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
            raise Malformed(f"invalid length {n}")
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
    controller_id, controller_epoch, broker_epoch, type_, topic_states_count = unpack_iiqbB(buf, pos)
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
        if partition_states_count * 26 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 692
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, replicas_count = unpack_iB(buf, pos)
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
            # topic_states.partition_states.adding_replicas
            adding_replicas_count = buf[pos]
            pos += 1
            if adding_replicas_count > 127:
                adding_replicas_count, pos = read_uvarint(buf, pos - 1)
            adding_replicas_count -= 1
            if adding_replicas_count < 0:
                raise Malformed(f"invalid length {adding_replicas_count}")
            if adding_replicas_count * 4 > end - pos:
                raise Malformed(f"{adding_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= adding_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{adding_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            adding_replicas = list(unpack_from(f">{adding_replicas_count}i", buf, pos))
            pos += adding_replicas_count * 4
            # topic_states.partition_states.removing_replicas
            removing_replicas_count = buf[pos]
            pos += 1
            if removing_replicas_count > 127:
                removing_replicas_count, pos = read_uvarint(buf, pos - 1)
            removing_replicas_count -= 1
            if removing_replicas_count < 0:
                raise Malformed(f"invalid length {removing_replicas_count}")
            if removing_replicas_count * 4 > end - pos:
                raise Malformed(f"{removing_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= removing_replicas_count * 52
            if budget < 0:
                raise Malformed(
                    f"{removing_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            removing_replicas = list(unpack_from(f">{removing_replicas_count}i", buf, pos))
            pos += removing_replicas_count * 4
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
    live_leaders_count = buf[pos]
    pos += 1
    if live_leaders_count > 127:
        live_leaders_count, pos = read_uvarint(buf, pos - 1)
    live_leaders_count -= 1
    if live_leaders_count < 0:
        raise Malformed(f"invalid length {live_leaders_count}")
    if live_leaders_count * 10 > end - pos:
        raise Malformed(f"{live_leaders_count} elements announced, {end - pos} bytes remain")
    budget -= live_leaders_count * 252
    if budget < 0:
        raise Malformed(f"{live_leaders_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(live_leaders_count):
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
            raise Malformed(f"invalid length {n}")
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
    controller_id, controller_epoch, broker_epoch, type_, topic_states_count = unpack_iiqbB(buf, pos)
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
        if partition_states_count * 27 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 724
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, replicas_count = unpack_iB(buf, pos)
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
            # topic_states.partition_states.adding_replicas
            adding_replicas_count = buf[pos]
            pos += 1
            if adding_replicas_count > 127:
                adding_replicas_count, pos = read_uvarint(buf, pos - 1)
            adding_replicas_count -= 1
            if adding_replicas_count < 0:
                raise Malformed(f"invalid length {adding_replicas_count}")
            if adding_replicas_count * 4 > end - pos:
                raise Malformed(f"{adding_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= adding_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{adding_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            adding_replicas = list(unpack_from(f">{adding_replicas_count}i", buf, pos))
            pos += adding_replicas_count * 4
            # topic_states.partition_states.removing_replicas
            removing_replicas_count = buf[pos]
            pos += 1
            if removing_replicas_count > 127:
                removing_replicas_count, pos = read_uvarint(buf, pos - 1)
            removing_replicas_count -= 1
            if removing_replicas_count < 0:
                raise Malformed(f"invalid length {removing_replicas_count}")
            if removing_replicas_count * 4 > end - pos:
                raise Malformed(f"{removing_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= removing_replicas_count * 52
            if budget < 0:
                raise Malformed(
                    f"{removing_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            removing_replicas = list(unpack_from(f">{removing_replicas_count}i", buf, pos))
            pos += removing_replicas_count * 4
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
    live_leaders_count = buf[pos]
    pos += 1
    if live_leaders_count > 127:
        live_leaders_count, pos = read_uvarint(buf, pos - 1)
    live_leaders_count -= 1
    if live_leaders_count < 0:
        raise Malformed(f"invalid length {live_leaders_count}")
    if live_leaders_count * 10 > end - pos:
        raise Malformed(f"{live_leaders_count} elements announced, {end - pos} bytes remain")
    budget -= live_leaders_count * 252
    if budget < 0:
        raise Malformed(f"{live_leaders_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(live_leaders_count):
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
            raise Malformed(f"invalid length {n}")
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
    controller_id, is_kraft_controller, controller_epoch, broker_epoch, type_, topic_states_count = unpack_iB0iqbB(
        buf, pos
    )
    # topic_states
    pos += 19
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
        if partition_states_count * 27 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 724
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
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            partition_epoch, replicas_count = unpack_iB(buf, pos)
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
            # topic_states.partition_states.adding_replicas
            adding_replicas_count = buf[pos]
            pos += 1
            if adding_replicas_count > 127:
                adding_replicas_count, pos = read_uvarint(buf, pos - 1)
            adding_replicas_count -= 1
            if adding_replicas_count < 0:
                raise Malformed(f"invalid length {adding_replicas_count}")
            if adding_replicas_count * 4 > end - pos:
                raise Malformed(f"{adding_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= adding_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{adding_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            adding_replicas = list(unpack_from(f">{adding_replicas_count}i", buf, pos))
            pos += adding_replicas_count * 4
            # topic_states.partition_states.removing_replicas
            removing_replicas_count = buf[pos]
            pos += 1
            if removing_replicas_count > 127:
                removing_replicas_count, pos = read_uvarint(buf, pos - 1)
            removing_replicas_count -= 1
            if removing_replicas_count < 0:
                raise Malformed(f"invalid length {removing_replicas_count}")
            if removing_replicas_count * 4 > end - pos:
                raise Malformed(f"{removing_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= removing_replicas_count * 52
            if budget < 0:
                raise Malformed(
                    f"{removing_replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            removing_replicas = list(unpack_from(f">{removing_replicas_count}i", buf, pos))
            pos += removing_replicas_count * 4
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
    live_leaders_count = buf[pos]
    pos += 1
    if live_leaders_count > 127:
        live_leaders_count, pos = read_uvarint(buf, pos - 1)
    live_leaders_count -= 1
    if live_leaders_count < 0:
        raise Malformed(f"invalid length {live_leaders_count}")
    if live_leaders_count * 10 > end - pos:
        raise Malformed(f"{live_leaders_count} elements announced, {end - pos} bytes remain")
    budget -= live_leaders_count * 252
    if budget < 0:
        raise Malformed(f"{live_leaders_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    live_leaders = []
    for _ in range(live_leaders_count):
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
            raise Malformed(f"invalid length {n}")
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
41 144 151 257 264 382 388 532 538 729 735 927 934 1126 1133 1327 the message
45 155 controller_id to ungrouped_partition_states
47 96 157 208 ungrouped_partition_states
60 170 ungrouped_partition_states.topic_name
70 180 ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
72 182 ungrouped_partition_states.isr
83 193 ungrouped_partition_states.partition_epoch to ungrouped_partition_states.replicas
85 195 ungrouped_partition_states.replicas
116 141 229 254 354 379 504 529 685 722 883 920 1082 1119 1283 1320 live_leaders
128 241 366 516 700 898 1097 1298 live_leaders.broker_id to live_leaders.host_name
130 243 368 518 702 900 1099 1300 live_leaders.host_name
139 252 377 527 live_leaders.port to live_leaders
206 ungrouped_partition_states.is_new to ungrouped_partition_states
268 392 542 739 938 1137 controller_id to topic_states
270 352 394 502 544 683 741 881 940 1080 1141 1281 topic_states
281 405 558 755 954 1155 topic_states.topic_name
291 331 415 481 573 658 772 856 971 1055 1172 1256 topic_states.partition_states
303 427 588 786 985 1186 topic_states.partition_states.partition_index to topic_states.partition_states.isr
305 429 590 788 987 1188 topic_states.partition_states.isr
316 440 604 802 1001 1202 topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
318 442 606 804 1003 1204 topic_states.partition_states.replicas
329 479 topic_states.partition_states.is_new to topic_states.partition_states
453 620 818 1017 1218 topic_states.partition_states.adding_replicas
465 635 833 1032 1233 topic_states.partition_states.removing_replicas
652 850 1049 1250 topic_states.partition_states.is_new to topic_states.partition_states.tags
654 852 1051 1252 topic_states.partition_states.tags
678 876 1075 1276 topic_states.tags
716 914 1113 1314 live_leaders.port to live_leaders.tags
718 916 1115 1316 live_leaders.tags
724 922 1121 1322 tags
770 969 1170 topic_states.topic_id to topic_states.partition_states
"""
