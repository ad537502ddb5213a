"""A log line for a peer now and then, not for each of its requests."""

from headrace.limits import NOTICE_INTERVAL_MS, NOTICES_PER_INTERVAL_MAX
from headrace.workers.network.peer_notices import PeerNotices


def test_a_peer_is_named_once_an_interval():
    notices = PeerNotices()
    assert notices.is_due("10.0.0.1", "streams", 5)
    assert not notices.is_due("10.0.0.1", "streams", 5 + NOTICE_INTERVAL_MS - 1)
    assert notices.is_due("10.0.0.1", "streams", 5 + NOTICE_INTERVAL_MS)


def test_two_applications_of_a_host_are_both_named():
    notices = PeerNotices()
    assert notices.is_due("10.0.0.1", "streams", 0)
    assert notices.is_due("10.0.0.1", "flink", 0)
    assert notices.is_due("10.0.0.1", None, 0)


def test_a_client_that_takes_new_names_fills_no_log():
    notices = PeerNotices()
    due = [notices.is_due("10.0.0.1", f"client-{number}", 0) for number in range(10 * NOTICES_PER_INTERVAL_MAX)]
    assert sum(due) == NOTICES_PER_INTERVAL_MAX
    assert notices.is_due("10.0.0.2", "honest", NOTICE_INTERVAL_MS)
