"""Encoders of UpdateMetadataRequest, v0 to v8.

Made by `make codec` from protocol/schema/06_update_metadata.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
pack_b = Struct(">b").pack
pack_h = Struct(">h").pack
pack_hx = Struct(">hx").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_iB0iq = Struct(">i?iq").pack
pack_iB0iqB = Struct(">i?iqB").pack
pack_ih = Struct(">ih").pack
pack_ii = Struct(">ii").pack
pack_iii = Struct(">iii").pack
pack_iiii = Struct(">iiii").pack
pack_iiiiB = Struct(">iiiiB").pack
pack_iiiii = Struct(">iiiii").pack
pack_iiq = Struct(">iiq").pack
pack_iiqB = Struct(">iiqB").pack
pack_iiqi = Struct(">iiqi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, _, controller_epoch, _, ungrouped_partition_states, _, live_brokers = msg
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
        zk_version,
        replicas,
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
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        put(pack_ii(zk_version, len(replicas)))
        # ungrouped_partition_states.replicas
        put(pack(f">{len(replicas)}i", *replicas))
    # live_brokers
    put(pack_i(len(live_brokers)))
    for id_, v0_host, v0_port, _, _ in live_brokers:
        # live_brokers.v0_host
        text = v0_host.encode()
        # live_brokers.id to live_brokers.v0_host
        put(pack_ih(id_, len(text)))
        # live_brokers.v0_host
        put(text)
        # live_brokers.v0_port to live_brokers
        put(pack_i(v0_port))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, _, controller_epoch, _, ungrouped_partition_states, _, live_brokers = msg
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
        zk_version,
        replicas,
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
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        put(pack_ii(zk_version, len(replicas)))
        # ungrouped_partition_states.replicas
        put(pack(f">{len(replicas)}i", *replicas))
    # live_brokers
    put(pack_i(len(live_brokers)))
    for id_, _, _, endpoints, _ in live_brokers:
        # live_brokers.id to live_brokers.endpoints
        put(pack_ii(id_, len(endpoints)))
        # live_brokers.endpoints
        for port, host, _, security_protocol in endpoints:
            # live_brokers.endpoints.host
            text = host.encode()
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            put(pack_ih(port, len(text)))
            # live_brokers.endpoints.host
            put(text)
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            put(pack_h(security_protocol))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, _, controller_epoch, _, ungrouped_partition_states, _, live_brokers = msg
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
        zk_version,
        replicas,
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
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        put(pack_ii(zk_version, len(replicas)))
        # ungrouped_partition_states.replicas
        put(pack(f">{len(replicas)}i", *replicas))
    # live_brokers
    put(pack_i(len(live_brokers)))
    for id_, _, _, endpoints, rack in live_brokers:
        # live_brokers.id to live_brokers.endpoints
        put(pack_ii(id_, len(endpoints)))
        # live_brokers.endpoints
        for port, host, _, security_protocol in endpoints:
            # live_brokers.endpoints.host
            text = host.encode()
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            put(pack_ih(port, len(text)))
            # live_brokers.endpoints.host
            put(text)
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            put(pack_h(security_protocol))
        # live_brokers.rack
        if rack is None:
            put(b"\xff\xff")
        else:
            text = rack.encode()
            put(pack_h(len(text)))
            put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, _, controller_epoch, _, ungrouped_partition_states, _, live_brokers = msg
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
        zk_version,
        replicas,
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
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        put(pack_ii(zk_version, len(replicas)))
        # ungrouped_partition_states.replicas
        put(pack(f">{len(replicas)}i", *replicas))
    # live_brokers
    put(pack_i(len(live_brokers)))
    for id_, _, _, endpoints, rack in live_brokers:
        # live_brokers.id to live_brokers.endpoints
        put(pack_ii(id_, len(endpoints)))
        # live_brokers.endpoints
        for port, host, listener, security_protocol in endpoints:
            # live_brokers.endpoints.host
            text = host.encode()
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            put(pack_ih(port, len(text)))
            # live_brokers.endpoints.host
            put(text)
            # live_brokers.endpoints.listener
            text = listener.encode()
            put(pack_h(len(text)))
            put(text)
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            put(pack_h(security_protocol))
        # live_brokers.rack
        if rack is None:
            put(b"\xff\xff")
        else:
            text = rack.encode()
            put(pack_h(len(text)))
            put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, _, controller_epoch, _, ungrouped_partition_states, _, live_brokers = msg
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
        zk_version,
        replicas,
        offline_replicas,
    ) in ungrouped_partition_states:
        # ungrouped_partition_states.topic_name
        text = topic_name.encode()
        put(pack_h(len(text)))
        put(text)
        # ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
        put(pack_iiiii(partition_index, controller_epoch_2, leader, leader_epoch, len(isr)))
        # ungrouped_partition_states.isr
        put(pack(f">{len(isr)}i", *isr))
        # ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
        put(pack_ii(zk_version, len(replicas)))
        # ungrouped_partition_states.replicas
        put(pack(f">{len(replicas)}i", *replicas))
        # ungrouped_partition_states.offline_replicas
        put(pack_i(len(offline_replicas)))
        put(pack(f">{len(offline_replicas)}i", *offline_replicas))
    # live_brokers
    put(pack_i(len(live_brokers)))
    for id_, _, _, endpoints, rack in live_brokers:
        # live_brokers.id to live_brokers.endpoints
        put(pack_ii(id_, len(endpoints)))
        # live_brokers.endpoints
        for port, host, listener, security_protocol in endpoints:
            # live_brokers.endpoints.host
            text = host.encode()
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            put(pack_ih(port, len(text)))
            # live_brokers.endpoints.host
            put(text)
            # live_brokers.endpoints.listener
            text = listener.encode()
            put(pack_h(len(text)))
            put(text)
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            put(pack_h(security_protocol))
        # live_brokers.rack
        if rack is None:
            put(b"\xff\xff")
        else:
            text = rack.encode()
            put(pack_h(len(text)))
            put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, _, controller_epoch, broker_epoch, _, topic_states, live_brokers = msg
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
            zk_version,
            replicas,
            offline_replicas,
        ) in partition_states:
            # topic_states.partition_states.partition_index to topic_states.partition_states.isr
            put(pack_iiiii(partition_index, controller_epoch_2, leader, leader_epoch, len(isr)))
            # topic_states.partition_states.isr
            put(pack(f">{len(isr)}i", *isr))
            # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
            put(pack_ii(zk_version, len(replicas)))
            # topic_states.partition_states.replicas
            put(pack(f">{len(replicas)}i", *replicas))
            # topic_states.partition_states.offline_replicas
            put(pack_i(len(offline_replicas)))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
    # live_brokers
    put(pack_i(len(live_brokers)))
    for id_, _, _, endpoints, rack in live_brokers:
        # live_brokers.id to live_brokers.endpoints
        put(pack_ii(id_, len(endpoints)))
        # live_brokers.endpoints
        for port, host, listener, security_protocol in endpoints:
            # live_brokers.endpoints.host
            text = host.encode()
            # live_brokers.endpoints.port to live_brokers.endpoints.host
            put(pack_ih(port, len(text)))
            # live_brokers.endpoints.host
            put(text)
            # live_brokers.endpoints.listener
            text = listener.encode()
            put(pack_h(len(text)))
            put(text)
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            put(pack_h(security_protocol))
        # live_brokers.rack
        if rack is None:
            put(b"\xff\xff")
        else:
            text = rack.encode()
            put(pack_h(len(text)))
            put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v6(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, _, controller_epoch, broker_epoch, _, topic_states, live_brokers = msg
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
            zk_version,
            replicas,
            offline_replicas,
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
                # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
                put(pack_iB(zk_version, n))
            # topic_states.partition_states.replicas
            else:
                # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
                put(pack_i(zk_version))
                # topic_states.partition_states.replicas
                put(encode_uvarint(n))
            put(pack(f">{len(replicas)}i", *replicas))
            # topic_states.partition_states.offline_replicas
            n = len(offline_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
            # topic_states.partition_states
            put(b"\x00")
        # topic_states
        put(b"\x00")
    # live_brokers
    n = len(live_brokers) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for id_, _, _, endpoints, rack in live_brokers:
        # live_brokers.endpoints
        n = len(endpoints) + 1
        if n < 128:
            # live_brokers.id to live_brokers.endpoints
            put(pack_iB(id_, n))
        # live_brokers.endpoints
        else:
            # live_brokers.id to live_brokers.endpoints
            put(pack_i(id_))
            # live_brokers.endpoints
            put(encode_uvarint(n))
        for port, host, listener, security_protocol in endpoints:
            # live_brokers.endpoints.host
            text = host.encode()
            n = len(text) + 1
            if n < 128:
                # live_brokers.endpoints.port to live_brokers.endpoints.host
                put(pack_iB(port, n))
            # live_brokers.endpoints.host
            else:
                # live_brokers.endpoints.port to live_brokers.endpoints.host
                put(pack_i(port))
                # live_brokers.endpoints.host
                put(encode_string_length(n))
            put(text)
            # live_brokers.endpoints.listener
            text = listener.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            put(pack_hx(security_protocol))
        # live_brokers.rack
        if rack is None:
            put(b"\x00")
        else:
            text = rack.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # live_brokers
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v7(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, _, controller_epoch, broker_epoch, _, topic_states, live_brokers = msg
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
            zk_version,
            replicas,
            offline_replicas,
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
                # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
                put(pack_iB(zk_version, n))
            # topic_states.partition_states.replicas
            else:
                # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
                put(pack_i(zk_version))
                # topic_states.partition_states.replicas
                put(encode_uvarint(n))
            put(pack(f">{len(replicas)}i", *replicas))
            # topic_states.partition_states.offline_replicas
            n = len(offline_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
            # topic_states.partition_states
            put(b"\x00")
        # topic_states
        put(b"\x00")
    # live_brokers
    n = len(live_brokers) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for id_, _, _, endpoints, rack in live_brokers:
        # live_brokers.endpoints
        n = len(endpoints) + 1
        if n < 128:
            # live_brokers.id to live_brokers.endpoints
            put(pack_iB(id_, n))
        # live_brokers.endpoints
        else:
            # live_brokers.id to live_brokers.endpoints
            put(pack_i(id_))
            # live_brokers.endpoints
            put(encode_uvarint(n))
        for port, host, listener, security_protocol in endpoints:
            # live_brokers.endpoints.host
            text = host.encode()
            n = len(text) + 1
            if n < 128:
                # live_brokers.endpoints.port to live_brokers.endpoints.host
                put(pack_iB(port, n))
            # live_brokers.endpoints.host
            else:
                # live_brokers.endpoints.port to live_brokers.endpoints.host
                put(pack_i(port))
                # live_brokers.endpoints.host
                put(encode_string_length(n))
            put(text)
            # live_brokers.endpoints.listener
            text = listener.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            put(pack_hx(security_protocol))
        # live_brokers.rack
        if rack is None:
            put(b"\x00")
        else:
            text = rack.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # live_brokers
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v8(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, is_kraft_controller, type_, controller_epoch, broker_epoch, _, topic_states, live_brokers = msg
    # topic_states
    n = len(topic_states) + 1
    if n < 128:
        # controller_id to topic_states
        put(pack_iB0iqB(controller_id, is_kraft_controller, controller_epoch, broker_epoch, n))
    # topic_states
    else:
        # controller_id to topic_states
        put(pack_iB0iq(controller_id, is_kraft_controller, controller_epoch, broker_epoch))
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
            zk_version,
            replicas,
            offline_replicas,
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
                # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
                put(pack_iB(zk_version, n))
            # topic_states.partition_states.replicas
            else:
                # topic_states.partition_states.zk_version to topic_states.partition_states.replicas
                put(pack_i(zk_version))
                # topic_states.partition_states.replicas
                put(encode_uvarint(n))
            put(pack(f">{len(replicas)}i", *replicas))
            # topic_states.partition_states.offline_replicas
            n = len(offline_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
            # topic_states.partition_states
            put(b"\x00")
        # topic_states
        put(b"\x00")
    # live_brokers
    n = len(live_brokers) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for id_, _, _, endpoints, rack in live_brokers:
        # live_brokers.endpoints
        n = len(endpoints) + 1
        if n < 128:
            # live_brokers.id to live_brokers.endpoints
            put(pack_iB(id_, n))
        # live_brokers.endpoints
        else:
            # live_brokers.id to live_brokers.endpoints
            put(pack_i(id_))
            # live_brokers.endpoints
            put(encode_uvarint(n))
        for port, host, listener, security_protocol in endpoints:
            # live_brokers.endpoints.host
            text = host.encode()
            n = len(text) + 1
            if n < 128:
                # live_brokers.endpoints.port to live_brokers.endpoints.host
                put(pack_iB(port, n))
            # live_brokers.endpoints.host
            else:
                # live_brokers.endpoints.port to live_brokers.endpoints.host
                put(pack_i(port))
                # live_brokers.endpoints.host
                put(encode_string_length(n))
            put(text)
            # live_brokers.endpoints.listener
            text = listener.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # live_brokers.endpoints.security_protocol to live_brokers.endpoints
            put(pack_hx(security_protocol))
        # live_brokers.rack
        if rack is None:
            put(b"\x00")
        else:
            text = rack.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # live_brokers
        put(b"\x00")
    # the message
    if type_ == 0:
        put(b"\0")
    else:
        tags = []
        outer = out
        # type
        if type_ != 0:
            out = []
            put = out.append
            put(pack_b(type_))
            tags.append((0, join(out)))
        # the message
        out = outer
        put = out.append
        n = len(tags)
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for tag, text in tags:
            put(UVARINTS[tag] if tag < 128 else encode_uvarint(tag))
            n = len(text)
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(text)
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
    8: encode_v8,
}
PLACES: Final = """\
34 76 82 128 134 187 193 250 256 316 322 385 391 505 512 634 641 763 775 the message
39 87 139 198 261 controller_id to ungrouped_partition_states
41 89 141 200 263 ungrouped_partition_states
53 101 153 212 275 ungrouped_partition_states.topic_name
57 105 157 216 279 ungrouped_partition_states.partition_index to ungrouped_partition_states.isr
59 107 159 218 281 ungrouped_partition_states.isr
61 109 161 220 283 ungrouped_partition_states.zk_version to ungrouped_partition_states.replicas
63 111 163 222 285 ungrouped_partition_states.replicas
65 113 165 224 290 359 459 503 588 632 717 761 live_brokers
68 72 live_brokers.v0_host
70 live_brokers.id to live_brokers.v0_host
74 live_brokers.v0_port to live_brokers
116 168 227 293 362 466 470 595 599 724 728 live_brokers.id to live_brokers.endpoints
118 170 229 295 364 463 468 472 592 597 601 721 726 730 live_brokers.endpoints
120 124 172 176 231 235 297 301 366 370 475 481 485 604 610 614 733 739 743 live_brokers.endpoints.host
122 174 233 299 368 479 483 608 612 737 741 live_brokers.endpoints.port to live_brokers.endpoints.host
126 178 241 307 376 493 622 751 live_brokers.endpoints.security_protocol to live_brokers.endpoints
180 243 309 378 495 624 753 live_brokers.rack
237 303 372 488 617 746 live_brokers.endpoints.listener
287 ungrouped_partition_states.offline_replicas
327 399 403 520 524 649 653 controller_id to topic_states
329 396 401 405 457 517 522 526 586 646 651 655 715 topic_states
331 408 529 658 topic_states.topic_name
335 413 455 534 539 543 584 663 668 672 713 topic_states.partition_states
348 430 434 559 563 688 692 topic_states.partition_states.partition_index to topic_states.partition_states.isr
350 427 432 436 556 561 565 685 690 694 topic_states.partition_states.isr
352 442 446 571 575 700 704 topic_states.partition_states.zk_version to topic_states.partition_states.replicas
354 439 444 448 568 573 577 697 702 706 topic_states.partition_states.replicas
356 451 580 709 topic_states.partition_states.offline_replicas
537 541 666 670 topic_states.topic_id to topic_states.partition_states
769 type
"""
