"""Versions between brokers: fixed by the sender's `inter.broker.protocol.version` (IBP), not negotiated.

What is advertised to clients (`apis.py`) is a smaller table: a broker does not ask it, and closes nothing by it. So a node takes
from anyone what a broker of any IBP may send, ACCEPTED, and sends what its own IBP says, `sent_version`. Those in NEGOTIATED
are asked for by ApiVersions, up to the version here; so is what admins send in a broker's stead, WriteTxnMarkers (KIP-664).

Source: Kafka 3.9 `MetadataVersion`, `ControllerChannelManager`, `ReplicaFetcherThread`, `BrokerBlockingSender`; KIP-35, KIP-497.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, NamedTuple

from headrace.protocol.apis import ADVERTISED, ApiKey

IBP_OLDEST: Final = "2.6"
IBP_DEFAULT: Final = "3.9-IV0"


class InterBroker(NamedTuple):
    """What a broker of one IBP sends, and what it relies on."""

    fetch: int
    list_offsets: int
    offset_for_leader_epoch: int
    leader_and_isr: int
    update_metadata: int
    stop_replica: int
    alter_partition: int  # -1: leaders write the ISR into ZooKeeper themselves, and tell by /isr_change_notification
    has_topic_ids: bool
    allocates_producer_ids: bool  # by the controller (AllocateProducerIds), else from ZooKeeper

    @property
    def truncates_on_fetch(self) -> bool:
        """Whether a diverging epoch comes with the fetch; else OffsetForLeaderEpoch is asked before the first one."""
        return self.fetch >= 12


# IBP from which on -> what is sent
_BY_IBP: Final[tuple[tuple[tuple[int, int], InterBroker], ...]] = (
    ((2, 6), InterBroker(11, 5, 3, 4, 6, 3, -1, False, False)),
    ((2, 7), InterBroker(12, 5, 3, 4, 6, 3, 0, False, False)),
    ((2, 8), InterBroker(12, 6, 4, 5, 7, 3, 0, True, False)),
    ((3, 0), InterBroker(12, 7, 4, 5, 7, 3, 0, True, True)),
    ((3, 1), InterBroker(13, 7, 4, 5, 7, 3, 0, True, True)),
    ((3, 2), InterBroker(13, 7, 4, 6, 7, 3, 1, True, True)),
    ((3, 4), InterBroker(13, 7, 4, 7, 8, 4, 2, True, True)),
    ((3, 5), InterBroker(15, 8, 4, 7, 8, 4, 3, True, True)),
    ((3, 7), InterBroker(16, 8, 4, 7, 8, 4, 3, True, True)),
    ((3, 9), InterBroker(17, 9, 4, 7, 8, 4, 3, True, True)),
)
_IBP: Final = re.compile(r"(\d+)\.(\d+)")

# What a broker of any IBP from 2.6 on may send to us, beyond what is advertised
ACCEPTED: Final[dict[int, tuple[int, int]]] = {
    ApiKey.FETCH: (0, 17),
    ApiKey.LEADER_AND_ISR: (0, 7),
    ApiKey.STOP_REPLICA: (0, 4),
    ApiKey.UPDATE_METADATA: (0, 8),
    ApiKey.CONTROLLED_SHUTDOWN: (0, 3),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5),
    ApiKey.WRITE_TXN_MARKERS: (0, 1),
    ApiKey.ALTER_PARTITION: (0, 3),
    ApiKey.ALLOCATE_PRODUCER_IDS: (0, 0),
}
NEGOTIATED: Final = frozenset((ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS))
OF_ADMINS: Final = frozenset(
    (ApiKey.WRITE_TXN_MARKERS,)
)  # `kafka-transactions.sh abort`, `headrace transactions abort`

SERVED: Final[dict[int, tuple[int, int]]] = ADVERTISED | ACCEPTED
# A broker asks ApiVersions as clients do: without these in the answer it neither changes an ISR nor gets producer ids
TOLD: Final[dict[int, tuple[int, int]]] = ADVERTISED | {key: ACCEPTED[key] for key in NEGOTIATED | OF_ADMINS}


def inter_broker(ibp: str) -> InterBroker:
    """What a broker of an IBP sends.

    ibp      as `inter.broker.protocol.version` has it: 2.6, 2.8-IV1, 3.9-IV0
    raises   ValueError, for one before IBP_OLDEST
    """
    found = _IBP.match(ibp)
    place = bisect_right(_BY_IBP, (int(found[1]), int(found[2])), key=lambda entry: entry[0]) if found else 0
    if not place:
        raise ValueError(f"{ibp} is no inter.broker.protocol.version from {IBP_OLDEST} on")
    return _BY_IBP[place - 1][1]
