"""DeleteTopics (key 20), v0 to v5: answered when the files of this node are out of the way, or the timeout passed.

Source: Kafka `ZkAdminManager.deleteTopics`, `TopicDeletionManager`.
"""

from __future__ import annotations

from headrace.controller import znodes
from headrace.controller.office import Office
from headrace.controller.waiting import Waiting
from headrace.controller.zk import ZkError
from headrace.errors import ErrorCode, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Result = messages.DeleteTopicsResponse.DeletableTopicResult


def handle(office: Office, version: int, body: memoryview) -> Waiting:
    """Mark the topics for deletion in ZooKeeper, then begin."""
    request = decode_request(ApiKey.DELETE_TOPICS, version, body)
    errors: dict[str, tuple[ErrorCode, str | None]] = {}
    names = []
    for name in dict.fromkeys(request.topic_names):
        try:
            office.check_active()
            if not office.settings["delete.topic.enable"]:
                raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
            if name not in office.cluster.topics:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name}")
            office.zk.ensure(znodes.delete_topic_path(name))
            names.append(name)
            errors[name] = (ErrorCode.NONE, None)
        except KafkaError as failure:
            errors[name] = (failure.code, failure.message)
        except ZkError as failure:
            errors[name] = (ErrorCode.REQUEST_TIMED_OUT, f"ZooKeeper: {failure}")
    office.begin_deletions(names)

    def respond(is_done: bool) -> bytes:
        if not is_done:
            errors.update(dict.fromkeys(names, (ErrorCode.REQUEST_TIMED_OUT, "marked for deletion")))
        results = [
            _Result(name=name, error_code=int(code), error_message=message) for name, (code, message) in errors.items()
        ]
        return encode_response(ApiKey.DELETE_TOPICS, version, messages.DeleteTopicsResponse(responses=results))

    return office.wait_deleted(names, request.timeout_ms, respond)
