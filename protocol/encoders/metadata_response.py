"""Encoders of MetadataResponse, v0 to v12.

Made by `make codec` from protocol/schema/03_metadata.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16sB0 = Struct(">16s?").pack
pack_16sB0B = Struct(">16s?B").pack
pack_B0 = Struct(">?").pack
pack_B0B = Struct(">?B").pack
pack_B0i = Struct(">?i").pack
pack_h = Struct(">h").pack
pack_hB = Struct(">hB").pack
pack_hh = Struct(">hh").pack
pack_hiii = Struct(">hiii").pack
pack_hiiiB = Struct(">hiiiB").pack
pack_hiiii = Struct(">hiiii").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ih = Struct(">ih").pack
pack_ii = Struct(">ii").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, brokers, _, _, topics, _ = msg
    # brokers
    put(pack_i(len(brokers)))
    for node_id, host, port, _ in brokers:
        # brokers.host
        text = host.encode()
        # brokers.node_id to brokers.host
        put(pack_ih(node_id, len(text)))
        # brokers.host
        put(text)
        # brokers.port to brokers
        put(pack_i(port))
    # topics
    put(pack_i(len(topics)))
    for error_code, name, _, _, partitions, _ in topics:
        # topics.name
        text = name.encode()
        # topics.error_code to topics.name
        put(pack_hh(error_code, len(text)))
        # topics.name
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for error_code_2, partition_index, leader_id, _, replica_nodes, isr_nodes, _ in partitions:
            # topics.partitions.error_code to topics.partitions.replica_nodes
            put(pack_hiii(error_code_2, partition_index, leader_id, len(replica_nodes)))
            # topics.partitions.replica_nodes
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            put(pack_i(len(isr_nodes)))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, brokers, _, controller_id, topics, _ = msg
    # brokers
    put(pack_i(len(brokers)))
    for node_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        # brokers.node_id to brokers.host
        put(pack_ih(node_id, len(text)))
        # brokers.host
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\xff\xff")
        else:
            text = rack.encode()
            put(pack_h(len(text)))
            put(text)
    # controller_id to topics
    put(pack_ii(controller_id, len(topics)))
    # topics
    for error_code, name, _, is_internal, partitions, _ in topics:
        # topics.name
        text = name.encode()
        # topics.error_code to topics.name
        put(pack_hh(error_code, len(text)))
        # topics.name
        put(text)
        # topics.is_internal to topics.partitions
        put(pack_B0i(is_internal, len(partitions)))
        # topics.partitions
        for error_code_2, partition_index, leader_id, _, replica_nodes, isr_nodes, _ in partitions:
            # topics.partitions.error_code to topics.partitions.replica_nodes
            put(pack_hiii(error_code_2, partition_index, leader_id, len(replica_nodes)))
            # topics.partitions.replica_nodes
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            put(pack_i(len(isr_nodes)))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, brokers, cluster_id, controller_id, topics, _ = msg
    # brokers
    put(pack_i(len(brokers)))
    for node_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        # brokers.node_id to brokers.host
        put(pack_ih(node_id, len(text)))
        # brokers.host
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\xff\xff")
        else:
            text = rack.encode()
            put(pack_h(len(text)))
            put(text)
    # cluster_id
    if cluster_id is None:
        put(b"\xff\xff")
    else:
        text = cluster_id.encode()
        put(pack_h(len(text)))
        put(text)
    # controller_id to topics
    put(pack_ii(controller_id, len(topics)))
    # topics
    for error_code, name, _, is_internal, partitions, _ in topics:
        # topics.name
        text = name.encode()
        # topics.error_code to topics.name
        put(pack_hh(error_code, len(text)))
        # topics.name
        put(text)
        # topics.is_internal to topics.partitions
        put(pack_B0i(is_internal, len(partitions)))
        # topics.partitions
        for error_code_2, partition_index, leader_id, _, replica_nodes, isr_nodes, _ in partitions:
            # topics.partitions.error_code to topics.partitions.replica_nodes
            put(pack_hiii(error_code_2, partition_index, leader_id, len(replica_nodes)))
            # topics.partitions.replica_nodes
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            put(pack_i(len(isr_nodes)))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, brokers, cluster_id, controller_id, topics, _ = msg
    # throttle_time_ms to brokers
    put(pack_ii(throttle_time_ms, len(brokers)))
    # brokers
    for node_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        # brokers.node_id to brokers.host
        put(pack_ih(node_id, len(text)))
        # brokers.host
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\xff\xff")
        else:
            text = rack.encode()
            put(pack_h(len(text)))
            put(text)
    # cluster_id
    if cluster_id is None:
        put(b"\xff\xff")
    else:
        text = cluster_id.encode()
        put(pack_h(len(text)))
        put(text)
    # controller_id to topics
    put(pack_ii(controller_id, len(topics)))
    # topics
    for error_code, name, _, is_internal, partitions, _ in topics:
        # topics.name
        text = name.encode()
        # topics.error_code to topics.name
        put(pack_hh(error_code, len(text)))
        # topics.name
        put(text)
        # topics.is_internal to topics.partitions
        put(pack_B0i(is_internal, len(partitions)))
        # topics.partitions
        for error_code_2, partition_index, leader_id, _, replica_nodes, isr_nodes, _ in partitions:
            # topics.partitions.error_code to topics.partitions.replica_nodes
            put(pack_hiii(error_code_2, partition_index, leader_id, len(replica_nodes)))
            # topics.partitions.replica_nodes
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            put(pack_i(len(isr_nodes)))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, brokers, cluster_id, controller_id, topics, _ = msg
    # throttle_time_ms to brokers
    put(pack_ii(throttle_time_ms, len(brokers)))
    # brokers
    for node_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        # brokers.node_id to brokers.host
        put(pack_ih(node_id, len(text)))
        # brokers.host
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\xff\xff")
        else:
            text = rack.encode()
            put(pack_h(len(text)))
            put(text)
    # cluster_id
    if cluster_id is None:
        put(b"\xff\xff")
    else:
        text = cluster_id.encode()
        put(pack_h(len(text)))
        put(text)
    # controller_id to topics
    put(pack_ii(controller_id, len(topics)))
    # topics
    for error_code, name, _, is_internal, partitions, _ in topics:
        # topics.name
        text = name.encode()
        # topics.error_code to topics.name
        put(pack_hh(error_code, len(text)))
        # topics.name
        put(text)
        # topics.is_internal to topics.partitions
        put(pack_B0i(is_internal, len(partitions)))
        # topics.partitions
        for error_code_2, partition_index, leader_id, _, replica_nodes, isr_nodes, offline_replicas in partitions:
            # topics.partitions.error_code to topics.partitions.replica_nodes
            put(pack_hiii(error_code_2, partition_index, leader_id, len(replica_nodes)))
            # topics.partitions.replica_nodes
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            put(pack_i(len(isr_nodes)))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
            # topics.partitions.offline_replicas
            put(pack_i(len(offline_replicas)))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v7(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, brokers, cluster_id, controller_id, topics, _ = msg
    # throttle_time_ms to brokers
    put(pack_ii(throttle_time_ms, len(brokers)))
    # brokers
    for node_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        # brokers.node_id to brokers.host
        put(pack_ih(node_id, len(text)))
        # brokers.host
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\xff\xff")
        else:
            text = rack.encode()
            put(pack_h(len(text)))
            put(text)
    # cluster_id
    if cluster_id is None:
        put(b"\xff\xff")
    else:
        text = cluster_id.encode()
        put(pack_h(len(text)))
        put(text)
    # controller_id to topics
    put(pack_ii(controller_id, len(topics)))
    # topics
    for error_code, name, _, is_internal, partitions, _ in topics:
        # topics.name
        text = name.encode()
        # topics.error_code to topics.name
        put(pack_hh(error_code, len(text)))
        # topics.name
        put(text)
        # topics.is_internal to topics.partitions
        put(pack_B0i(is_internal, len(partitions)))
        # topics.partitions
        for (
            error_code_2,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
        ) in partitions:
            # topics.partitions.error_code to topics.partitions.replica_nodes
            put(pack_hiiii(error_code_2, partition_index, leader_id, leader_epoch, len(replica_nodes)))
            # topics.partitions.replica_nodes
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            put(pack_i(len(isr_nodes)))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
            # topics.partitions.offline_replicas
            put(pack_i(len(offline_replicas)))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v8(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations = msg
    # throttle_time_ms to brokers
    put(pack_ii(throttle_time_ms, len(brokers)))
    # brokers
    for node_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        # brokers.node_id to brokers.host
        put(pack_ih(node_id, len(text)))
        # brokers.host
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\xff\xff")
        else:
            text = rack.encode()
            put(pack_h(len(text)))
            put(text)
    # cluster_id
    if cluster_id is None:
        put(b"\xff\xff")
    else:
        text = cluster_id.encode()
        put(pack_h(len(text)))
        put(text)
    # controller_id to topics
    put(pack_ii(controller_id, len(topics)))
    # topics
    for error_code, name, _, is_internal, partitions, topic_authorized_operations in topics:
        # topics.name
        text = name.encode()
        # topics.error_code to topics.name
        put(pack_hh(error_code, len(text)))
        # topics.name
        put(text)
        # topics.is_internal to topics.partitions
        put(pack_B0i(is_internal, len(partitions)))
        # topics.partitions
        for (
            error_code_2,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
        ) in partitions:
            # topics.partitions.error_code to topics.partitions.replica_nodes
            put(pack_hiiii(error_code_2, partition_index, leader_id, leader_epoch, len(replica_nodes)))
            # topics.partitions.replica_nodes
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            put(pack_i(len(isr_nodes)))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
            # topics.partitions.offline_replicas
            put(pack_i(len(offline_replicas)))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
        # topics.topic_authorized_operations to topics
        put(pack_i(topic_authorized_operations))
    # cluster_authorized_operations to the end
    put(pack_i(cluster_authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v9(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations = msg
    # brokers
    n = len(brokers) + 1
    if n < 128:
        # throttle_time_ms to brokers
        put(pack_iB(throttle_time_ms, n))
    # brokers
    else:
        # throttle_time_ms to brokers
        put(pack_i(throttle_time_ms))
        # brokers
        put(encode_uvarint(n))
    for node_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        n = len(text) + 1
        if n < 128:
            # brokers.node_id to brokers.host
            put(pack_iB(node_id, n))
        # brokers.host
        else:
            # brokers.node_id to brokers.host
            put(pack_i(node_id))
            # brokers.host
            put(encode_string_length(n))
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\x00")
        else:
            text = rack.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # brokers
        put(b"\x00")
    # cluster_id
    if cluster_id is None:
        put(b"\x00")
    else:
        text = cluster_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # topics
    n = len(topics) + 1
    if n < 128:
        # controller_id to topics
        put(pack_iB(controller_id, n))
    # topics
    else:
        # controller_id to topics
        put(pack_i(controller_id))
        # topics
        put(encode_uvarint(n))
    for error_code, name, _, is_internal, partitions, topic_authorized_operations in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        if n < 128:
            # topics.error_code to topics.name
            put(pack_hB(error_code, n))
        # topics.name
        else:
            # topics.error_code to topics.name
            put(pack_h(error_code))
            # topics.name
            put(encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        if n < 128:
            # topics.is_internal to topics.partitions
            put(pack_B0B(is_internal, n))
        # topics.partitions
        else:
            # topics.is_internal to topics.partitions
            put(pack_B0(is_internal))
            # topics.partitions
            put(encode_uvarint(n))
        for (
            error_code_2,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
        ) in partitions:
            # topics.partitions.replica_nodes
            n = len(replica_nodes) + 1
            if n < 128:
                # topics.partitions.error_code to topics.partitions.replica_nodes
                put(pack_hiiiB(error_code_2, partition_index, leader_id, leader_epoch, n))
            # topics.partitions.replica_nodes
            else:
                # topics.partitions.error_code to topics.partitions.replica_nodes
                put(pack_hiii(error_code_2, partition_index, leader_id, leader_epoch))
                # topics.partitions.replica_nodes
                put(encode_uvarint(n))
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            n = len(isr_nodes) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
            # topics.partitions.offline_replicas
            n = len(offline_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
            # topics.partitions
            put(b"\x00")
        # topics.topic_authorized_operations to topics
        put(pack_ix(topic_authorized_operations))
    # cluster_authorized_operations to the end
    put(pack_ix(cluster_authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v10(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations = msg
    # brokers
    n = len(brokers) + 1
    if n < 128:
        # throttle_time_ms to brokers
        put(pack_iB(throttle_time_ms, n))
    # brokers
    else:
        # throttle_time_ms to brokers
        put(pack_i(throttle_time_ms))
        # brokers
        put(encode_uvarint(n))
    for node_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        n = len(text) + 1
        if n < 128:
            # brokers.node_id to brokers.host
            put(pack_iB(node_id, n))
        # brokers.host
        else:
            # brokers.node_id to brokers.host
            put(pack_i(node_id))
            # brokers.host
            put(encode_string_length(n))
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\x00")
        else:
            text = rack.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # brokers
        put(b"\x00")
    # cluster_id
    if cluster_id is None:
        put(b"\x00")
    else:
        text = cluster_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # topics
    n = len(topics) + 1
    if n < 128:
        # controller_id to topics
        put(pack_iB(controller_id, n))
    # topics
    else:
        # controller_id to topics
        put(pack_i(controller_id))
        # topics
        put(encode_uvarint(n))
    for error_code, name, topic_id, is_internal, partitions, topic_authorized_operations in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        if n < 128:
            # topics.error_code to topics.name
            put(pack_hB(error_code, n))
        # topics.name
        else:
            # topics.error_code to topics.name
            put(pack_h(error_code))
            # topics.name
            put(encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        if n < 128:
            # topics.topic_id to topics.partitions
            put(pack_16sB0B(topic_id, is_internal, n))
        # topics.partitions
        else:
            # topics.topic_id to topics.partitions
            put(pack_16sB0(topic_id, is_internal))
            # topics.partitions
            put(encode_uvarint(n))
        for (
            error_code_2,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
        ) in partitions:
            # topics.partitions.replica_nodes
            n = len(replica_nodes) + 1
            if n < 128:
                # topics.partitions.error_code to topics.partitions.replica_nodes
                put(pack_hiiiB(error_code_2, partition_index, leader_id, leader_epoch, n))
            # topics.partitions.replica_nodes
            else:
                # topics.partitions.error_code to topics.partitions.replica_nodes
                put(pack_hiii(error_code_2, partition_index, leader_id, leader_epoch))
                # topics.partitions.replica_nodes
                put(encode_uvarint(n))
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            n = len(isr_nodes) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
            # topics.partitions.offline_replicas
            n = len(offline_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
            # topics.partitions
            put(b"\x00")
        # topics.topic_authorized_operations to topics
        put(pack_ix(topic_authorized_operations))
    # cluster_authorized_operations to the end
    put(pack_ix(cluster_authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v11(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, brokers, cluster_id, controller_id, topics, _ = msg
    # brokers
    n = len(brokers) + 1
    if n < 128:
        # throttle_time_ms to brokers
        put(pack_iB(throttle_time_ms, n))
    # brokers
    else:
        # throttle_time_ms to brokers
        put(pack_i(throttle_time_ms))
        # brokers
        put(encode_uvarint(n))
    for node_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        n = len(text) + 1
        if n < 128:
            # brokers.node_id to brokers.host
            put(pack_iB(node_id, n))
        # brokers.host
        else:
            # brokers.node_id to brokers.host
            put(pack_i(node_id))
            # brokers.host
            put(encode_string_length(n))
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\x00")
        else:
            text = rack.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # brokers
        put(b"\x00")
    # cluster_id
    if cluster_id is None:
        put(b"\x00")
    else:
        text = cluster_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # topics
    n = len(topics) + 1
    if n < 128:
        # controller_id to topics
        put(pack_iB(controller_id, n))
    # topics
    else:
        # controller_id to topics
        put(pack_i(controller_id))
        # topics
        put(encode_uvarint(n))
    for error_code, name, topic_id, is_internal, partitions, topic_authorized_operations in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        if n < 128:
            # topics.error_code to topics.name
            put(pack_hB(error_code, n))
        # topics.name
        else:
            # topics.error_code to topics.name
            put(pack_h(error_code))
            # topics.name
            put(encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        if n < 128:
            # topics.topic_id to topics.partitions
            put(pack_16sB0B(topic_id, is_internal, n))
        # topics.partitions
        else:
            # topics.topic_id to topics.partitions
            put(pack_16sB0(topic_id, is_internal))
            # topics.partitions
            put(encode_uvarint(n))
        for (
            error_code_2,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
        ) in partitions:
            # topics.partitions.replica_nodes
            n = len(replica_nodes) + 1
            if n < 128:
                # topics.partitions.error_code to topics.partitions.replica_nodes
                put(pack_hiiiB(error_code_2, partition_index, leader_id, leader_epoch, n))
            # topics.partitions.replica_nodes
            else:
                # topics.partitions.error_code to topics.partitions.replica_nodes
                put(pack_hiii(error_code_2, partition_index, leader_id, leader_epoch))
                # topics.partitions.replica_nodes
                put(encode_uvarint(n))
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            n = len(isr_nodes) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
            # topics.partitions.offline_replicas
            n = len(offline_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
            # topics.partitions
            put(b"\x00")
        # topics.topic_authorized_operations to topics
        put(pack_ix(topic_authorized_operations))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v12(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, brokers, cluster_id, controller_id, topics, _ = msg
    # brokers
    n = len(brokers) + 1
    if n < 128:
        # throttle_time_ms to brokers
        put(pack_iB(throttle_time_ms, n))
    # brokers
    else:
        # throttle_time_ms to brokers
        put(pack_i(throttle_time_ms))
        # brokers
        put(encode_uvarint(n))
    for node_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        n = len(text) + 1
        if n < 128:
            # brokers.node_id to brokers.host
            put(pack_iB(node_id, n))
        # brokers.host
        else:
            # brokers.node_id to brokers.host
            put(pack_i(node_id))
            # brokers.host
            put(encode_string_length(n))
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\x00")
        else:
            text = rack.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # brokers
        put(b"\x00")
    # cluster_id
    if cluster_id is None:
        put(b"\x00")
    else:
        text = cluster_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # topics
    n = len(topics) + 1
    if n < 128:
        # controller_id to topics
        put(pack_iB(controller_id, n))
    # topics
    else:
        # controller_id to topics
        put(pack_i(controller_id))
        # topics
        put(encode_uvarint(n))
    for error_code, name, topic_id, is_internal, partitions, topic_authorized_operations in topics:
        # topics.error_code to topics.name
        put(pack_h(error_code))
        # topics.name
        if name is None:
            put(b"\x00")
        else:
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # topics.partitions
        n = len(partitions) + 1
        if n < 128:
            # topics.topic_id to topics.partitions
            put(pack_16sB0B(topic_id, is_internal, n))
        # topics.partitions
        else:
            # topics.topic_id to topics.partitions
            put(pack_16sB0(topic_id, is_internal))
            # topics.partitions
            put(encode_uvarint(n))
        for (
            error_code_2,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
        ) in partitions:
            # topics.partitions.replica_nodes
            n = len(replica_nodes) + 1
            if n < 128:
                # topics.partitions.error_code to topics.partitions.replica_nodes
                put(pack_hiiiB(error_code_2, partition_index, leader_id, leader_epoch, n))
            # topics.partitions.replica_nodes
            else:
                # topics.partitions.error_code to topics.partitions.replica_nodes
                put(pack_hiii(error_code_2, partition_index, leader_id, leader_epoch))
                # topics.partitions.replica_nodes
                put(encode_uvarint(n))
            put(pack(f">{len(replica_nodes)}i", *replica_nodes))
            # topics.partitions.isr_nodes
            n = len(isr_nodes) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(isr_nodes)}i", *isr_nodes))
            # topics.partitions.offline_replicas
            n = len(offline_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(offline_replicas)}i", *offline_replicas))
            # topics.partitions
            put(b"\x00")
        # topics.topic_authorized_operations to topics
        put(pack_ix(topic_authorized_operations))
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
    4: encode_v3,
    5: encode_v5,
    6: encode_v5,
    7: encode_v7,
    8: encode_v8,
    9: encode_v9,
    10: encode_v10,
    11: encode_v11,
    12: encode_v12,
}
PLACES: Final = """\
32 67 73 117 123 174 180 232 238 293 299 362 368 435 441 562 568 689 695 814 821 937 the message
37 78 128 187 245 306 375 446 451 455 481 573 578 582 608 700 705 709 735 826 831 835 861 brokers
40 44 81 85 131 135 189 193 247 251 308 312 377 381 458 464 468 585 591 595 712 718 722 838 844 848 brokers.host
42 83 133 191 249 310 379 462 466 589 593 716 720 842 846 brokers.node_id to brokers.host
46 brokers.port to brokers
48 98 155 213 271 332 401 491 496 500 618 623 627 745 750 754 871 876 880 topics
51 55 100 104 157 161 215 219 273 277 334 338 403 407 503 509 513 630 636 640 757 763 767 885 topics.name
53 102 159 217 275 336 405 507 511 634 638 761 765 883 topics.error_code to topics.name
57 108 165 223 281 342 411 516 521 525 556 643 648 652 683 770 775 779 810 893 898 902 933 topics.partitions
60 110 167 225 283 352 421 539 543 666 670 793 797 916 920 topics.partitions.error_code to topics.partitions.replica_nodes
62 112 169 227 285 354 423 536 541 545 663 668 672 790 795 799 913 918 922 topics.partitions.replica_nodes
64 114 171 229 287 356 425 548 675 802 925 topics.partitions.isr_nodes
87 137 195 253 314 383 471 598 725 851 brokers.port to brokers.rack
89 139 197 255 316 385 473 600 727 853 brokers.rack
96 153 211 269 330 399 494 498 621 625 748 752 874 878 controller_id to topics
106 163 221 279 340 409 519 523 topics.is_internal to topics.partitions
146 204 262 323 392 483 610 737 863 cluster_id
185 243 304 373 449 453 576 580 703 707 829 833 throttle_time_ms to brokers
290 359 428 552 679 806 929 topics.partitions.offline_replicas
431 558 685 812 935 topics.topic_authorized_operations to topics
433 560 687 cluster_authorized_operations to the end
646 650 773 777 896 900 topics.topic_id to topics.partitions
"""
