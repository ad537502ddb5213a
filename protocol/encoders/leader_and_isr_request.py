"""Encoders of LeaderAndIsrRequest, v0 to v7.

Made by `make codec` from protocol/schema/04_leader_and_isr.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
pack_B0 = Struct(">?").pack
pack_B0bx = Struct(">?bx").pack
pack_B0x = Struct(">?x").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_iB0iqb = Struct(">i?iqb").pack
pack_iB0iqbB = Struct(">i?iqbB").pack
pack_ih = Struct(">ih").pack
pack_ii = Struct(">ii").pack
pack_iii = Struct(">iii").pack
pack_iiii = Struct(">iiii").pack
pack_iiiiB = Struct(">iiiiB").pack
pack_iiiii = Struct(">iiiii").pack
pack_iiq = Struct(">iiq").pack
pack_iiqB = Struct(">iiqB").pack
pack_iiqb = Struct(">iiqb").pack
pack_iiqbB = Struct(">iiqbB").pack
pack_iiqi = Struct(">iiqi").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, _, _, ungrouped_partition_states, _, live_leaders = msg
    # controller_id to ungrouped_partition_states
    put(pack_iii(controller_id, controller_epoch, len(ungrouped_partition_states)))
    # ungrouped_partition_states
    for (
        topic_name,
        partition_index,
        controller_epoch_2,
        leader,
        leader_epoch,
        isr,
        partition_epoch,
        replicas,
        _,
        _,
        _,
        _,
    ) in ungrouped_partition_states:
        # ungrouped_partition_states.topic_name
        text = topic_name.encode()
        put(pack_h(len(text)))
        put(text)
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        put(pack_iiiii(partition_index, controller_epoch_2, leader, leader_epoch, len(isr)))
        # ungrouped_partition_states.isr
        put(pack(f">{len(isr)}i", *isr))
        # ungrouped_partition_states.partition_epoch to ungrouped_partition_states.replicas
        put(pack_ii(partition_epoch, len(replicas)))
        # ungrouped_partition_states.replicas
        put(pack(f">{len(replicas)}i", *replicas))
    # live_leaders
    put(pack_i(len(live_leaders)))
    for broker_id, host_name, port in live_leaders:
        # live_leaders.host_name
        text = host_name.encode()
        # live_leaders.broker_id to live_leaders.host_name
        put(pack_ih(broker_id, len(text)))
        # live_leaders.host_name
        put(text)
        # live_leaders.port to live_leaders
        put(pack_i(port))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, _, _, ungrouped_partition_states, _, live_leaders = msg
    # controller_id to ungrouped_partition_states
    put(pack_iii(controller_id, controller_epoch, len(ungrouped_partition_states)))
    # ungrouped_partition_states
    for (
        topic_name,
        partition_index,
        controller_epoch_2,
        leader,
        leader_epoch,
        isr,
        partition_epoch,
        replicas,
        _,
        _,
        is_new,
        _,
    ) in ungrouped_partition_states:
        # ungrouped_partition_states.topic_name
        text = topic_name.encode()
        put(pack_h(len(text)))
        put(text)
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        put(pack_iiiii(partition_index, controller_epoch_2, leader, leader_epoch, len(isr)))
        # ungrouped_partition_states.isr
        put(pack(f">{len(isr)}i", *isr))
        # ungrouped_partition_states.partition_epoch to ungrouped_partition_states.replicas
        put(pack_ii(partition_epoch, len(replicas)))
        # ungrouped_partition_states.replicas
        put(pack(f">{len(replicas)}i", *replicas))
        # ungrouped_partition_states.is_new to ungrouped_partition_states
        put(pack_B0(is_new))
    # live_leaders
    put(pack_i(len(live_leaders)))
    for broker_id, host_name, port in live_leaders:
        # live_leaders.host_name
        text = host_name.encode()
        # live_leaders.broker_id to live_leaders.host_name
        put(pack_ih(broker_id, len(text)))
        # live_leaders.host_name
        put(text)
        # live_leaders.port to live_leaders
        put(pack_i(port))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, broker_epoch, _, _, topic_states, live_leaders = msg
    # controller_id to topic_states
    put(pack_iiqi(controller_id, controller_epoch, broker_epoch, len(topic_states)))
    # topic_states
    for topic_name, _, partition_states in topic_states:
        # topic_states.topic_name
        text = topic_name.encode()
        put(pack_h(len(text)))
        put(text)
        # topic_states.partition_states
        put(pack_i(len(partition_states)))
        for (
            _,
            partition_index,
            controller_epoch_2,
            leader,
            leader_epoch,
            isr,
            partition_epoch,
            replicas,
            _,
            _,
            is_new,
            _,
        ) in partition_states:
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            put(pack_iiiii(partition_index, controller_epoch_2, leader, leader_epoch, len(isr)))
            # topic_states.partition_states.isr
            put(pack(f">{len(isr)}i", *isr))
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            put(pack_ii(partition_epoch, len(replicas)))
            # topic_states.partition_states.replicas
            put(pack(f">{len(replicas)}i", *replicas))
            # topic_states.partition_states.is_new to topic_states.partition_states
            put(pack_B0(is_new))
    # live_leaders
    put(pack_i(len(live_leaders)))
    for broker_id, host_name, port in live_leaders:
        # live_leaders.host_name
        text = host_name.encode()
        # live_leaders.broker_id to live_leaders.host_name
        put(pack_ih(broker_id, len(text)))
        # live_leaders.host_name
        put(text)
        # live_leaders.port to live_leaders
        put(pack_i(port))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, broker_epoch, _, _, topic_states, live_leaders = msg
    # controller_id to topic_states
    put(pack_iiqi(controller_id, controller_epoch, broker_epoch, len(topic_states)))
    # topic_states
    for topic_name, _, partition_states in topic_states:
        # topic_states.topic_name
        text = topic_name.encode()
        put(pack_h(len(text)))
        put(text)
        # topic_states.partition_states
        put(pack_i(len(partition_states)))
        for (
            _,
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
            _,
        ) in partition_states:
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            put(pack_iiiii(partition_index, controller_epoch_2, leader, leader_epoch, len(isr)))
            # topic_states.partition_states.isr
            put(pack(f">{len(isr)}i", *isr))
            # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
            put(pack_ii(partition_epoch, len(replicas)))
            # topic_states.partition_states.replicas
            put(pack(f">{len(replicas)}i", *replicas))
            # topic_states.partition_states.adding_replicas
            put(pack_i(len(adding_replicas)))
            put(pack(f">{len(adding_replicas)}i", *adding_replicas))
            # topic_states.partition_states.removing_replicas
            put(pack_i(len(removing_replicas)))
            put(pack(f">{len(removing_replicas)}i", *removing_replicas))
            # topic_states.partition_states.is_new to topic_states.partition_states
            put(pack_B0(is_new))
    # live_leaders
    put(pack_i(len(live_leaders)))
    for broker_id, host_name, port in live_leaders:
        # live_leaders.host_name
        text = host_name.encode()
        # live_leaders.broker_id to live_leaders.host_name
        put(pack_ih(broker_id, len(text)))
        # live_leaders.host_name
        put(text)
        # live_leaders.port to live_leaders
        put(pack_i(port))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, broker_epoch, _, _, topic_states, live_leaders = msg
    # topic_states
    n = len(topic_states) + 1
    if n < 128:
        # controller_id to topic_states
        put(pack_iiqB(controller_id, controller_epoch, broker_epoch, n))
    # topic_states
    else:
        # controller_id to topic_states
        put(pack_iiq(controller_id, controller_epoch, broker_epoch))
        # topic_states
        put(encode_uvarint(n))
    for topic_name, _, partition_states in topic_states:
        # topic_states.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topic_states.partition_states
        n = len(partition_states) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for (
            _,
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
            _,
        ) in partition_states:
            # topic_states.partition_states.isr
            n = len(isr) + 1
            if n < 128:
                # topic_states.partition_states.partition_index to topic_states.partition_states.isr
                put(pack_iiiiB(partition_index, controller_epoch_2, leader, leader_epoch, n))
            # topic_states.partition_states.isr
            else:
                # topic_states.partition_states.partition_index to topic_states.partition_states.isr
                put(pack_iiii(partition_index, controller_epoch_2, leader, leader_epoch))
                # topic_states.partition_states.isr
                put(encode_uvarint(n))
            put(pack(f">{len(isr)}i", *isr))
            # topic_states.partition_states.replicas
            n = len(replicas) + 1
            if n < 128:
                # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
                put(pack_iB(partition_epoch, n))
            # topic_states.partition_states.replicas
            else:
                # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
                put(pack_i(partition_epoch))
                # topic_states.partition_states.replicas
                put(encode_uvarint(n))
            put(pack(f">{len(replicas)}i", *replicas))
            # topic_states.partition_states.adding_replicas
            n = len(adding_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(adding_replicas)}i", *adding_replicas))
            # topic_states.partition_states.removing_replicas
            n = len(removing_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(removing_replicas)}i", *removing_replicas))
            # topic_states.partition_states.is_new to topic_states.partition_states
            put(pack_B0x(is_new))
        # topic_states
        put(b"\x00")
    # live_leaders
    n = len(live_leaders) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for broker_id, host_name, port in live_leaders:
        # live_leaders.host_name
        text = host_name.encode()
        n = len(text) + 1
        if n < 128:
            # live_leaders.broker_id to live_leaders.host_name
            put(pack_iB(broker_id, n))
        # live_leaders.host_name
        else:
            # live_leaders.broker_id to live_leaders.host_name
            put(pack_i(broker_id))
            # live_leaders.host_name
            put(encode_string_length(n))
        put(text)
        # live_leaders.port to live_leaders
        put(pack_ix(port))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, broker_epoch, type_, _, topic_states, live_leaders = msg
    # topic_states
    n = len(topic_states) + 1
    if n < 128:
        # controller_id to topic_states
        put(pack_iiqbB(controller_id, controller_epoch, broker_epoch, type_, n))
    # topic_states
    else:
        # controller_id to topic_states
        put(pack_iiqb(controller_id, controller_epoch, broker_epoch, type_))
        # topic_states
        put(encode_uvarint(n))
    for topic_name, topic_id, partition_states in topic_states:
        # topic_states.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topic_states.partition_states
        n = len(partition_states) + 1
        if n < 128:
            # topic_states.topic_id to topic_states.partition_states
            put(pack_16sB(topic_id, n))
        # topic_states.partition_states
        else:
            # topic_states.topic_id to topic_states.partition_states
            put(pack_16s(topic_id))
            # topic_states.partition_states
            put(encode_uvarint(n))
        for (
            _,
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
            _,
        ) in partition_states:
            # topic_states.partition_states.isr
            n = len(isr) + 1
            if n < 128:
                # topic_states.partition_states.partition_index to topic_states.partition_states.isr
                put(pack_iiiiB(partition_index, controller_epoch_2, leader, leader_epoch, n))
            # topic_states.partition_states.isr
            else:
                # topic_states.partition_states.partition_index to topic_states.partition_states.isr
                put(pack_iiii(partition_index, controller_epoch_2, leader, leader_epoch))
                # topic_states.partition_states.isr
                put(encode_uvarint(n))
            put(pack(f">{len(isr)}i", *isr))
            # topic_states.partition_states.replicas
            n = len(replicas) + 1
            if n < 128:
                # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
                put(pack_iB(partition_epoch, n))
            # topic_states.partition_states.replicas
            else:
                # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
                put(pack_i(partition_epoch))
                # topic_states.partition_states.replicas
                put(encode_uvarint(n))
            put(pack(f">{len(replicas)}i", *replicas))
            # topic_states.partition_states.adding_replicas
            n = len(adding_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(adding_replicas)}i", *adding_replicas))
            # topic_states.partition_states.removing_replicas
            n = len(removing_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(removing_replicas)}i", *removing_replicas))
            # topic_states.partition_states.is_new to topic_states.partition_states
            put(pack_B0x(is_new))
        # topic_states
        put(b"\x00")
    # live_leaders
    n = len(live_leaders) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for broker_id, host_name, port in live_leaders:
        # live_leaders.host_name
        text = host_name.encode()
        n = len(text) + 1
        if n < 128:
            # live_leaders.broker_id to live_leaders.host_name
            put(pack_iB(broker_id, n))
        # live_leaders.host_name
        else:
            # live_leaders.broker_id to live_leaders.host_name
            put(pack_i(broker_id))
            # live_leaders.host_name
            put(encode_string_length(n))
        put(text)
        # live_leaders.port to live_leaders
        put(pack_ix(port))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v6(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, broker_epoch, type_, _, topic_states, live_leaders = msg
    # topic_states
    n = len(topic_states) + 1
    if n < 128:
        # controller_id to topic_states
        put(pack_iiqbB(controller_id, controller_epoch, broker_epoch, type_, n))
    # topic_states
    else:
        # controller_id to topic_states
        put(pack_iiqb(controller_id, controller_epoch, broker_epoch, type_))
        # topic_states
        put(encode_uvarint(n))
    for topic_name, topic_id, partition_states in topic_states:
        # topic_states.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topic_states.partition_states
        n = len(partition_states) + 1
        if n < 128:
            # topic_states.topic_id to topic_states.partition_states
            put(pack_16sB(topic_id, n))
        # topic_states.partition_states
        else:
            # topic_states.topic_id to topic_states.partition_states
            put(pack_16s(topic_id))
            # topic_states.partition_states
            put(encode_uvarint(n))
        for (
            _,
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
        ) in partition_states:
            # topic_states.partition_states.isr
            n = len(isr) + 1
            if n < 128:
                # topic_states.partition_states.partition_index to topic_states.partition_states.isr
                put(pack_iiiiB(partition_index, controller_epoch_2, leader, leader_epoch, n))
            # topic_states.partition_states.isr
            else:
                # topic_states.partition_states.partition_index to topic_states.partition_states.isr
                put(pack_iiii(partition_index, controller_epoch_2, leader, leader_epoch))
                # topic_states.partition_states.isr
                put(encode_uvarint(n))
            put(pack(f">{len(isr)}i", *isr))
            # topic_states.partition_states.replicas
            n = len(replicas) + 1
            if n < 128:
                # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
                put(pack_iB(partition_epoch, n))
            # topic_states.partition_states.replicas
            else:
                # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
                put(pack_i(partition_epoch))
                # topic_states.partition_states.replicas
                put(encode_uvarint(n))
            put(pack(f">{len(replicas)}i", *replicas))
            # topic_states.partition_states.adding_replicas
            n = len(adding_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(adding_replicas)}i", *adding_replicas))
            # topic_states.partition_states.removing_replicas
            n = len(removing_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(removing_replicas)}i", *removing_replicas))
            # topic_states.partition_states.is_new to topic_states.partition_states
            put(pack_B0bx(is_new, leader_recovery_state))
        # topic_states
        put(b"\x00")
    # live_leaders
    n = len(live_leaders) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for broker_id, host_name, port in live_leaders:
        # live_leaders.host_name
        text = host_name.encode()
        n = len(text) + 1
        if n < 128:
            # live_leaders.broker_id to live_leaders.host_name
            put(pack_iB(broker_id, n))
        # live_leaders.host_name
        else:
            # live_leaders.broker_id to live_leaders.host_name
            put(pack_i(broker_id))
            # live_leaders.host_name
            put(encode_string_length(n))
        put(text)
        # live_leaders.port to live_leaders
        put(pack_ix(port))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v7(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, is_kraft_controller, controller_epoch, broker_epoch, type_, _, topic_states, live_leaders = msg
    # topic_states
    n = len(topic_states) + 1
    if n < 128:
        # controller_id to topic_states
        put(pack_iB0iqbB(controller_id, is_kraft_controller, controller_epoch, broker_epoch, type_, n))
    # topic_states
    else:
        # controller_id to topic_states
        put(pack_iB0iqb(controller_id, is_kraft_controller, controller_epoch, broker_epoch, type_))
        # topic_states
        put(encode_uvarint(n))
    for topic_name, topic_id, partition_states in topic_states:
        # topic_states.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topic_states.partition_states
        n = len(partition_states) + 1
        if n < 128:
            # topic_states.topic_id to topic_states.partition_states
            put(pack_16sB(topic_id, n))
        # topic_states.partition_states
        else:
            # topic_states.topic_id to topic_states.partition_states
            put(pack_16s(topic_id))
            # topic_states.partition_states
            put(encode_uvarint(n))
        for (
            _,
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
        ) in partition_states:
            # topic_states.partition_states.isr
            n = len(isr) + 1
            if n < 128:
                # topic_states.partition_states.partition_index to topic_states.partition_states.isr
                put(pack_iiiiB(partition_index, controller_epoch_2, leader, leader_epoch, n))
            # topic_states.partition_states.isr
            else:
                # topic_states.partition_states.partition_index to topic_states.partition_states.isr
                put(pack_iiii(partition_index, controller_epoch_2, leader, leader_epoch))
                # topic_states.partition_states.isr
                put(encode_uvarint(n))
            put(pack(f">{len(isr)}i", *isr))
            # topic_states.partition_states.replicas
            n = len(replicas) + 1
            if n < 128:
                # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
                put(pack_iB(partition_epoch, n))
            # topic_states.partition_states.replicas
            else:
                # topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
                put(pack_i(partition_epoch))
                # topic_states.partition_states.replicas
                put(encode_uvarint(n))
            put(pack(f">{len(replicas)}i", *replicas))
            # topic_states.partition_states.adding_replicas
            n = len(adding_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(adding_replicas)}i", *adding_replicas))
            # topic_states.partition_states.removing_replicas
            n = len(removing_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(removing_replicas)}i", *removing_replicas))
            # topic_states.partition_states.is_new to topic_states.partition_states
            put(pack_B0bx(is_new, leader_recovery_state))
        # topic_states
        put(b"\x00")
    # live_leaders
    n = len(live_leaders) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for broker_id, host_name, port in live_leaders:
        # live_leaders.host_name
        text = host_name.encode()
        n = len(text) + 1
        if n < 128:
            # live_leaders.broker_id to live_leaders.host_name
            put(pack_iB(broker_id, n))
        # live_leaders.host_name
        else:
            # live_leaders.broker_id to live_leaders.host_name
            put(pack_i(broker_id))
            # live_leaders.host_name
            put(encode_string_length(n))
        put(text)
        # live_leaders.port to live_leaders
        put(pack_ix(port))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v2,
    3: encode_v3,
    4: encode_v4,
    5: encode_v5,
    6: encode_v6,
    7: encode_v7,
}
PLACES: Final = """\
38 83 89 136 142 192 198 254 260 354 361 463 470 572 579 681 the message
43 94 controller_id to ungrouped_partition_states
45 96 ungrouped_partition_states
60 111 ungrouped_partition_states.topic_name
64 115 ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
66 117 ungrouped_partition_states.isr
68 119 ungrouped_partition_states.partition_epoch to ungrouped_partition_states.replicas
70 121 ungrouped_partition_states.replicas
72 125 181 243 335 444 553 662 live_leaders
75 79 128 132 184 188 246 250 339 345 349 448 454 458 557 563 567 666 672 676 live_leaders.host_name
77 130 186 248 343 347 452 456 561 565 670 674 live_leaders.broker_id to live_leaders.host_name
81 134 190 252 352 461 570 679 live_leaders.port to live_leaders
123 ungrouped_partition_states.is_new to ungrouped_partition_states
147 203 268 272 369 373 478 482 587 591 controller_id to topic_states
149 205 265 270 274 333 366 371 375 442 475 480 484 551 584 589 593 660 topic_states
151 207 277 378 487 596 topic_states.topic_name
155 211 282 383 388 392 492 497 501 601 606 610 topic_states.partition_states
171 227 302 306 411 415 520 524 629 633 topic_states.partition_states.partition_index to topic_states.partition_states.isr
173 229 299 304 308 408 413 417 517 522 526 626 631 635 topic_states.partition_states.isr
175 231 314 318 423 427 532 536 641 645 topic_states.partition_states.partition_epoch to topic_states.partition_states.replicas
177 233 311 316 320 420 425 429 529 534 538 638 643 647 topic_states.partition_states.replicas
179 241 331 440 549 658 topic_states.partition_states.is_new to topic_states.partition_states
235 323 432 541 650 topic_states.partition_states.adding_replicas
238 327 436 545 654 topic_states.partition_states.removing_replicas
386 390 495 499 604 608 topic_states.topic_id to topic_states.partition_states
"""
