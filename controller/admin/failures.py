"""Which error code a failure is answered with."""

from __future__ import annotations

from headrace.controller.zookeeper.errors import ControllerMoved, ZkError
from headrace.errors import ErrorCode, HeadraceError, KafkaError


def answer_to(failure: HeadraceError) -> tuple[ErrorCode, str]:
    """Code and message. A write without a reply may have happened: for the client that is a timeout."""
    if isinstance(failure, KafkaError):
        return failure.code, failure.message
    if isinstance(failure, ControllerMoved):
        return ErrorCode.NOT_CONTROLLER, str(failure)
    if isinstance(failure, ZkError):
        return ErrorCode.REQUEST_TIMED_OUT, f"ZooKeeper: {failure}; the outcome is unknown"
    return ErrorCode.UNKNOWN_SERVER_ERROR, str(failure)
