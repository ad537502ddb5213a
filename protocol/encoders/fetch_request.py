"""Encoders of FetchRequest, v0 to v17.

Made by `make codec` from protocol/schema/01_fetch.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.fetch_request import FetchRequest
from headrace.protocol.varint import UVARINTS, encode_uvarint

REPLICA_STATE = FetchRequest._field_defaults["replica_state"]
pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iiibii = Struct(">iiibii").pack
pack_iiibiiB = Struct(">iiibiiB").pack
pack_iiii = Struct(">iiii").pack
pack_iiiibi = Struct(">iiiibi").pack
pack_iiiibii = Struct(">iiiibii").pack
pack_iiiibiiB = Struct(">iiiibiiB").pack
pack_iiiibiii = Struct(">iiiibiii").pack
pack_iiiii = Struct(">iiiii").pack
pack_iiqiqi = Struct(">iiqiqi").pack
pack_iiqiqix = Struct(">iiqiqix").pack
pack_iiqqi = Struct(">iiqqi").pack
pack_iqi = Struct(">iqi").pack
pack_iqqi = Struct(">iqqi").pack
pack_iqx = Struct(">iqx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, replica_id, _, max_wait_ms, min_bytes, _, _, _, _, topics, _, _ = msg
    # replica_id to topics
    put(pack_iiii(replica_id, max_wait_ms, min_bytes, len(topics)))
    # topics
    for topic, _, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition, _, fetch_offset, _, _, partition_max_bytes, _ in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_iqi(partition, fetch_offset, partition_max_bytes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, replica_id, _, max_wait_ms, min_bytes, max_bytes, _, _, _, topics, _, _ = msg
    # replica_id to topics
    put(pack_iiiii(replica_id, max_wait_ms, min_bytes, max_bytes, len(topics)))
    # topics
    for topic, _, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition, _, fetch_offset, _, _, partition_max_bytes, _ in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_iqi(partition, fetch_offset, partition_max_bytes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, replica_id, _, max_wait_ms, min_bytes, max_bytes, isolation_level, _, _, topics, _, _ = msg
    # replica_id to topics
    put(pack_iiiibi(replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, len(topics)))
    # topics
    for topic, _, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition, _, fetch_offset, _, _, partition_max_bytes, _ in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_iqi(partition, fetch_offset, partition_max_bytes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, replica_id, _, max_wait_ms, min_bytes, max_bytes, isolation_level, _, _, topics, _, _ = msg
    # replica_id to topics
    put(pack_iiiibi(replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, len(topics)))
    # topics
    for topic, _, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition, _, fetch_offset, _, log_start_offset, partition_max_bytes, _ in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_iqqi(partition, fetch_offset, log_start_offset, partition_max_bytes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v7(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        _,
        replica_id,
        _,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        _,
    ) = msg
    # replica_id to topics
    put(
        pack_iiiibiii(
            replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, len(topics)
        )
    )
    # topics
    for topic, _, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition, _, fetch_offset, _, log_start_offset, partition_max_bytes, _ in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_iqqi(partition, fetch_offset, log_start_offset, partition_max_bytes))
    # forgotten_topics_data
    put(pack_i(len(forgotten_topics_data)))
    for topic_2, _, partitions_2 in forgotten_topics_data:
        # forgotten_topics_data.topic
        text = topic_2.encode()
        put(pack_h(len(text)))
        put(text)
        # forgotten_topics_data.partitions
        put(pack_i(len(partitions_2)))
        put(pack(f">{len(partitions_2)}i", *partitions_2))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v9(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        _,
        replica_id,
        _,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        _,
    ) = msg
    # replica_id to topics
    put(
        pack_iiiibiii(
            replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, len(topics)
        )
    )
    # topics
    for topic, _, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition, current_leader_epoch, fetch_offset, _, log_start_offset, partition_max_bytes, _ in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_iiqqi(partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes))
    # forgotten_topics_data
    put(pack_i(len(forgotten_topics_data)))
    for topic_2, _, partitions_2 in forgotten_topics_data:
        # forgotten_topics_data.topic
        text = topic_2.encode()
        put(pack_h(len(text)))
        put(text)
        # forgotten_topics_data.partitions
        put(pack_i(len(partitions_2)))
        put(pack(f">{len(partitions_2)}i", *partitions_2))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v11(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        _,
        replica_id,
        _,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    ) = msg
    # replica_id to topics
    put(
        pack_iiiibiii(
            replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, len(topics)
        )
    )
    # topics
    for topic, _, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition, current_leader_epoch, fetch_offset, _, log_start_offset, partition_max_bytes, _ in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_iiqqi(partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes))
    # forgotten_topics_data
    put(pack_i(len(forgotten_topics_data)))
    for topic_2, _, partitions_2 in forgotten_topics_data:
        # forgotten_topics_data.topic
        text = topic_2.encode()
        put(pack_h(len(text)))
        put(text)
        # forgotten_topics_data.partitions
        put(pack_i(len(partitions_2)))
        put(pack(f">{len(partitions_2)}i", *partitions_2))
    # rack_id
    text = rack_id.encode()
    put(pack_h(len(text)))
    put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v12(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        cluster_id,
        replica_id,
        _,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    ) = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # replica_id to topics
        put(pack_iiiibiiB(replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n))
    # topics
    else:
        # replica_id to topics
        put(pack_iiiibii(replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch))
        # topics
        put(encode_uvarint(n))
    for topic, _, partitions in topics:
        # topics.topic
        text = topic.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for (
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            _,
        ) in partitions:
            # topics.partitions.partition to topics.partitions
            put(
                pack_iiqiqix(
                    partition,
                    current_leader_epoch,
                    fetch_offset,
                    last_fetched_epoch,
                    log_start_offset,
                    partition_max_bytes,
                )
            )
        # topics
        put(b"\x00")
    # forgotten_topics_data
    n = len(forgotten_topics_data) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for topic_2, _, partitions_2 in forgotten_topics_data:
        # forgotten_topics_data.topic
        text = topic_2.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # forgotten_topics_data.partitions
        n = len(partitions_2) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(pack(f">{len(partitions_2)}i", *partitions_2))
        # forgotten_topics_data
        put(b"\x00")
    # rack_id
    text = rack_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # the message
    if cluster_id is None:
        put(b"\0")
    else:
        tags = []
        outer = out
        # cluster_id
        if cluster_id is not None:
            out = []
            put = out.append
            if cluster_id is None:
                put(b"\x00")
            else:
                text = cluster_id.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
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


def encode_v13(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        cluster_id,
        replica_id,
        _,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    ) = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # replica_id to topics
        put(pack_iiiibiiB(replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n))
    # topics
    else:
        # replica_id to topics
        put(pack_iiiibii(replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch))
        # topics
        put(encode_uvarint(n))
    for _, topic_id, partitions in topics:
        # topics.partitions
        n = len(partitions) + 1
        if n < 128:
            # topics.topic_id to topics.partitions
            put(pack_16sB(topic_id, n))
        # topics.partitions
        else:
            # topics.topic_id to topics.partitions
            put(pack_16s(topic_id))
            # topics.partitions
            put(encode_uvarint(n))
        for (
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            _,
        ) in partitions:
            # topics.partitions.partition to topics.partitions
            put(
                pack_iiqiqix(
                    partition,
                    current_leader_epoch,
                    fetch_offset,
                    last_fetched_epoch,
                    log_start_offset,
                    partition_max_bytes,
                )
            )
        # topics
        put(b"\x00")
    # forgotten_topics_data
    n = len(forgotten_topics_data) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for _, topic_id_2, partitions_2 in forgotten_topics_data:
        # forgotten_topics_data.partitions
        n = len(partitions_2) + 1
        if n < 128:
            # forgotten_topics_data.topic_id to forgotten_topics_data.partitions
            put(pack_16sB(topic_id_2, n))
        # forgotten_topics_data.partitions
        else:
            # forgotten_topics_data.topic_id to forgotten_topics_data.partitions
            put(pack_16s(topic_id_2))
            # forgotten_topics_data.partitions
            put(encode_uvarint(n))
        put(pack(f">{len(partitions_2)}i", *partitions_2))
        # forgotten_topics_data
        put(b"\x00")
    # rack_id
    text = rack_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # the message
    if cluster_id is None:
        put(b"\0")
    else:
        tags = []
        outer = out
        # cluster_id
        if cluster_id is not None:
            out = []
            put = out.append
            if cluster_id is None:
                put(b"\x00")
            else:
                text = cluster_id.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
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


def encode_v15(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        cluster_id,
        _,
        replica_state,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    ) = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # max_wait_ms to topics
        put(pack_iiibiiB(max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n))
    # topics
    else:
        # max_wait_ms to topics
        put(pack_iiibii(max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch))
        # topics
        put(encode_uvarint(n))
    for _, topic_id, partitions in topics:
        # topics.partitions
        n = len(partitions) + 1
        if n < 128:
            # topics.topic_id to topics.partitions
            put(pack_16sB(topic_id, n))
        # topics.partitions
        else:
            # topics.topic_id to topics.partitions
            put(pack_16s(topic_id))
            # topics.partitions
            put(encode_uvarint(n))
        for (
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            _,
        ) in partitions:
            # topics.partitions.partition to topics.partitions
            put(
                pack_iiqiqix(
                    partition,
                    current_leader_epoch,
                    fetch_offset,
                    last_fetched_epoch,
                    log_start_offset,
                    partition_max_bytes,
                )
            )
        # topics
        put(b"\x00")
    # forgotten_topics_data
    n = len(forgotten_topics_data) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for _, topic_id_2, partitions_2 in forgotten_topics_data:
        # forgotten_topics_data.partitions
        n = len(partitions_2) + 1
        if n < 128:
            # forgotten_topics_data.topic_id to forgotten_topics_data.partitions
            put(pack_16sB(topic_id_2, n))
        # forgotten_topics_data.partitions
        else:
            # forgotten_topics_data.topic_id to forgotten_topics_data.partitions
            put(pack_16s(topic_id_2))
            # forgotten_topics_data.partitions
            put(encode_uvarint(n))
        put(pack(f">{len(partitions_2)}i", *partitions_2))
        # forgotten_topics_data
        put(b"\x00")
    # rack_id
    text = rack_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # the message
    if cluster_id is None and replica_state is REPLICA_STATE:
        put(b"\0")
    else:
        tags = []
        outer = out
        # cluster_id
        if cluster_id is not None:
            out = []
            put = out.append
            if cluster_id is None:
                put(b"\x00")
            else:
                text = cluster_id.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            tags.append((0, join(out)))
        # replica_state
        if replica_state != REPLICA_STATE:
            out = []
            put = out.append
            replica_id, replica_epoch = replica_state
            # replica_state.replica_id to replica_state
            put(pack_iqx(replica_id, replica_epoch))
            # replica_state
            tags.append((1, join(out)))
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


def encode_v17(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        cluster_id,
        _,
        replica_state,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    ) = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # max_wait_ms to topics
        put(pack_iiibiiB(max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n))
    # topics
    else:
        # max_wait_ms to topics
        put(pack_iiibii(max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch))
        # topics
        put(encode_uvarint(n))
    for _, topic_id, partitions in topics:
        # topics.partitions
        n = len(partitions) + 1
        if n < 128:
            # topics.topic_id to topics.partitions
            put(pack_16sB(topic_id, n))
        # topics.partitions
        else:
            # topics.topic_id to topics.partitions
            put(pack_16s(topic_id))
            # topics.partitions
            put(encode_uvarint(n))
        for (
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            replica_directory_id,
        ) in partitions:
            # topics.partitions.partition to topics.partitions
            put(
                pack_iiqiqi(
                    partition,
                    current_leader_epoch,
                    fetch_offset,
                    last_fetched_epoch,
                    log_start_offset,
                    partition_max_bytes,
                )
            )
            # topics.partitions
            if replica_directory_id == ZERO_UUID:
                put(b"\0")
            else:
                tags = []
                outer = out
                # topics.partitions.replica_directory_id
                if replica_directory_id is None or len(replica_directory_id):
                    out = []
                    put = out.append
                    put(pack_16s(replica_directory_id))
                    tags.append((0, join(out)))
                # topics.partitions
                out = outer
                put = out.append
                n = len(tags)
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                for tag, text in tags:
                    put(UVARINTS[tag] if tag < 128 else encode_uvarint(tag))
                    n = len(text)
                    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                    put(text)
        # topics
        put(b"\x00")
    # forgotten_topics_data
    n = len(forgotten_topics_data) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for _, topic_id_2, partitions_2 in forgotten_topics_data:
        # forgotten_topics_data.partitions
        n = len(partitions_2) + 1
        if n < 128:
            # forgotten_topics_data.topic_id to forgotten_topics_data.partitions
            put(pack_16sB(topic_id_2, n))
        # forgotten_topics_data.partitions
        else:
            # forgotten_topics_data.topic_id to forgotten_topics_data.partitions
            put(pack_16s(topic_id_2))
            # forgotten_topics_data.partitions
            put(encode_uvarint(n))
        put(pack(f">{len(partitions_2)}i", *partitions_2))
        # forgotten_topics_data
        put(b"\x00")
    # rack_id
    text = rack_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # the message
    if cluster_id is None and replica_state is REPLICA_STATE:
        put(b"\0")
    else:
        tags_2 = []
        outer_2 = out
        # cluster_id
        if cluster_id is not None:
            out = []
            put = out.append
            if cluster_id is None:
                put(b"\x00")
            else:
                text = cluster_id.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            tags_2.append((0, join(out)))
        # replica_state
        if replica_state != REPLICA_STATE:
            out = []
            put = out.append
            replica_id, replica_epoch = replica_state
            # replica_state.replica_id to replica_state
            put(pack_iqx(replica_id, replica_epoch))
            # replica_state
            tags_2.append((1, join(out)))
        # the message
        out = outer_2
        put = out.append
        n = len(tags_2)
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for tag_2, text in tags_2:
            put(UVARINTS[tag_2] if tag_2 < 128 else encode_uvarint(tag_2))
            n = len(text)
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(text)
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v3,
    4: encode_v4,
    5: encode_v5,
    6: encode_v5,
    7: encode_v7,
    8: encode_v7,
    9: encode_v9,
    10: encode_v9,
    11: encode_v11,
    12: encode_v12,
    13: encode_v13,
    14: encode_v13,
    15: encode_v15,
    16: encode_v15,
    17: encode_v17,
}
PLACES: Final = """\
37 55 61 79 85 103 109 127 133 178 184 229 235 284 290 370 388 403 489 507 522 608 635 650 758 785 the message
42 66 90 114 151 202 253 311 315 424 428 replica_id to topics
44 68 92 116 157 208 259 308 313 317 348 421 426 430 464 540 545 549 583 668 673 677 733 topics
46 70 94 118 159 210 261 320 topics.topic
50 74 98 122 163 214 265 325 433 438 442 552 557 561 680 685 689 711 723 topics.partitions
53 77 101 125 166 217 268 337 453 572 700 topics.partitions.partition to topics.partitions
168 219 270 350 363 466 482 585 601 735 751 forgotten_topics_data
171 222 273 354 forgotten_topics_data.topic
175 226 277 359 470 475 479 589 594 598 739 744 748 forgotten_topics_data.partitions
280 365 484 603 753 rack_id
376 495 614 764 cluster_id
436 440 555 559 683 687 topics.topic_id to topics.partitions
473 477 592 596 742 746 forgotten_topics_data.topic_id to forgotten_topics_data.partitions
543 547 671 675 max_wait_ms to topics
626 633 776 783 replica_state
631 781 replica_state.replica_id to replica_state
717 topics.partitions.replica_directory_id
"""
