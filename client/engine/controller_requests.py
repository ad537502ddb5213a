"""Requests for the active controller: asked again where it has moved, or could not be reached.

Brokers in KRaft take them, whichever is asked; those with ZooKeeper only as controller. A broker that is no longer the controller
refuses the whole request: nothing was done. One whose answer was lost may have been carried out, which the caller hears of.

Source: Kafka `KafkaAdminClient`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from headrace.client.engine.engine import Engine
from headrace.client.engine.link import Versions
from headrace.client.engine.tasks import Ask, Pause, Procedure, retry_pause_s
from headrace.client.failures import ConnectionFailed, NotSent, error_of
from headrace.errors import ErrorCode, HeadraceError, KafkaError

TRIES: Final = 20  # with pauses up to a second each
TIMEOUT_MS: Final = 25_000  # that the controller may take
WAIT_S: Final = TIMEOUT_MS / 1000 + 5

Errors = dict[str, KafkaError | None]  # by name; None: it is done


class Answered(NamedTuple):
    """A response of the controller.

    is_repeated   an earlier request, whose response was lost, may have been carried out before
    """

    body: Any
    is_repeated: bool


def ask_controller(
    engine: Engine,
    api_key: int,
    versions: Versions,
    message: Any,
    codes: Callable[[Any], Iterable[int]],
    on_lost: Callable[[ConnectionFailed], None] | None = None,
) -> Procedure[Answered]:
    """The controller's response, whatever else its error codes say.

    codes     the error codes of a response
    on_lost   called where a response was lost, before the request is repeated; it may raise
    raises    ConnectionFailed; KafkaError NOT_CONTROLLER
    """
    metadata = engine.metadata
    is_repeated = False
    for tries in range(1, TRIES + 1):
        failure: HeadraceError
        if tries > 1 or not metadata.version:
            yield metadata.refresh()
        node = metadata.controller_id
        if node not in metadata.brokers:
            node = engine.requests.any_node(engine.tasks.now_s)
        try:
            body = yield Ask(node, api_key, versions, message, WAIT_S)
        except NotSent as failed:
            failure = failed
        except ConnectionFailed as failed:
            if on_lost is not None:
                on_lost(failed)
            failure, is_repeated = failed, True
        else:
            if ErrorCode.NOT_CONTROLLER not in codes(body):
                return Answered(body, is_repeated)
            is_known = metadata.controller_id in metadata.brokers
            text = f"broker {node}" if is_known else "the cluster has no active controller"
            failure = KafkaError(ErrorCode.NOT_CONTROLLER, text)
        if tries == TRIES:
            raise failure
        yield Pause(retry_pause_s(tries))
    raise AssertionError("unreachable")


def errors_of(rows: Iterable[tuple[str, int, str | None]], what: str = "topic") -> Errors:
    """(name, error code, text) of each."""
    return {name: error_of(code, text or f"{what} {name}") if code else None for name, code, text in rows}


def raise_first(errors: Mapping[Any, HeadraceError | None]) -> None:
    """raises   the first error, if there is one"""
    for failure in errors.values():
        if failure is not None:
            raise failure
