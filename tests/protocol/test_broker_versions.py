"""Versions between brokers, against the table of what Apache Kafka sends."""

import pytest

from headrace.protocol.apis import ADVERTISED, ApiKey
from headrace.protocol.broker_versions import ACCEPTED, SERVED, TOLD, inter_broker

# IBP: Fetch, ListOffsets, OffsetForLeaderEpoch, LeaderAndIsr, UpdateMetadata, StopReplica
SENT = {
    "2.6": (11, 5, 3, 4, 6, 3),
    "2.7-IV2": (12, 5, 3, 4, 6, 3),
    "2.8": (12, 6, 4, 5, 7, 3),
    "3.0": (12, 7, 4, 5, 7, 3),
    "3.1": (13, 7, 4, 5, 7, 3),
    "3.3": (13, 7, 4, 6, 7, 3),
    "3.4": (13, 7, 4, 7, 8, 4),
    "3.6": (15, 8, 4, 7, 8, 4),
    "3.8": (16, 8, 4, 7, 8, 4),
    "3.9-IV0": (17, 9, 4, 7, 8, 4),
}


@pytest.mark.parametrize("ibp", SENT)
def test_what_is_sent_follows_from_the_ibp(ibp):
    assert inter_broker(ibp)[:6] == SENT[ibp]


def test_isrs_are_asked_of_the_controller_from_2_7_on_and_topics_have_ids_from_2_8_on():
    assert [inter_broker(ibp).alter_partition >= 0 for ibp in ("2.6", "2.7", "3.9")] == [False, True, True]
    assert [inter_broker(ibp).has_topic_ids for ibp in ("2.6", "2.7", "2.8")] == [False, False, True]
    assert [inter_broker(ibp).truncates_on_fetch for ibp in ("2.6", "2.7", "3.9")] == [False, True, True]
    assert [inter_broker(ibp).allocates_producer_ids for ibp in ("2.8", "3.0")] == [False, True]


@pytest.mark.parametrize("ibp", ["2.5", "1.1-IV0", "", "newest"])
def test_an_older_ibp_is_refused(ibp):
    with pytest.raises(ValueError, match=r"from 2[.]6 on"):
        inter_broker(ibp)


def test_whatever_is_sent_is_taken():
    for ibp in SENT:
        sent = inter_broker(ibp)
        for key, version in (
            (ApiKey.FETCH, sent.fetch),
            (ApiKey.LIST_OFFSETS, sent.list_offsets),
            (ApiKey.OFFSET_FOR_LEADER_EPOCH, sent.offset_for_leader_epoch),
            (ApiKey.LEADER_AND_ISR, sent.leader_and_isr),
            (ApiKey.UPDATE_METADATA, sent.update_metadata),
            (ApiKey.STOP_REPLICA, sent.stop_replica),
        ):
            low, high = SERVED[key]
            assert low <= version <= high
    assert all(SERVED[key][1] >= high for key, (_low, high) in ADVERTISED.items())
    assert ACCEPTED.items() <= SERVED.items()


def test_admins_are_told_of_the_markers_that_they_write():
    """Kafka's admin client asks for ApiVersions before it sends one."""
    assert TOLD[ApiKey.WRITE_TXN_MARKERS] == ACCEPTED[ApiKey.WRITE_TXN_MARKERS]
    assert ApiKey.LEADER_AND_ISR not in TOLD
