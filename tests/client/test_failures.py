"""What a client's request ends with."""

from headrace.client.failures import ConnectionFailed, NotSent, error_of, is_retriable
from headrace.errors import CorruptIndex, ErrorCode


def test_an_error_of_a_code_and_of_one_that_is_not_known():
    assert error_of(3, "t-0").code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    unknown = error_of(12345, "t-0")
    assert unknown.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "error code 12345" in str(unknown)


def test_which_requests_may_succeed_later():
    assert is_retriable(NotSent("no connection"))
    assert is_retriable(ConnectionFailed("it broke"))
    assert is_retriable(error_of(ErrorCode.NOT_LEADER_OR_FOLLOWER, "t-0"))
    assert not is_retriable(error_of(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "t-0"))
    assert not is_retriable(CorruptIndex("of another kind"))
