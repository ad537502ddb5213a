"""Topics that come and go: a broker that never answers holds nobody up, neither under faults nor at the end."""

import pytest

from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import parse_request_header
from tests.chaos import topic_churn
from tests.chaos.history import History
from tests.chaos.topic_churn import TopicChurn
from tests.support.fake_broker import FakeBroker, FileLog
from tests.support.waiting import wait_until


class SilentController(FakeBroker):
    """Takes CreateTopics, and never answers."""

    def _api_versions(self, request, error):
        told = super()._api_versions(request, error)
        return told._replace(api_keys=[*told.api_keys, type(told).ApiVersion(int(ApiKey.CREATE_TOPICS), 1, 4)])

    def _answer(self, frame):
        if parse_request_header(frame).api_key == ApiKey.CREATE_TOPICS:
            self.asked[ApiKey.CREATE_TOPICS] += 1
            return None
        return super()._answer(frame)


@pytest.fixture
def churn(tmp_path, monkeypatch):
    monkeypatch.setattr(topic_churn, "TIMEOUT_S", 0.05)
    monkeypatch.setattr(topic_churn, "STEP_S", 0.05)
    with SilentController(FileLog(tmp_path)) as broker:
        churn = TopicChurn("churn-0", broker.address, History())
        churn.start()
        wait_until(lambda: broker.asked[ApiKey.CREATE_TOPICS] > 2)  # again, over other connections
        yield churn
        churn.abandon()
        churn.thread.join(10)


def test_who_gets_no_answer_says_at_what_it_gave_up_once_it_is_told_to_stop(churn, monkeypatch):
    monkeypatch.setattr(topic_churn, "GIVE_UP_S", 0.1)
    churn.stop()
    assert not churn.thread.is_alive()
    assert (churn.failure, churn.gave_up, churn.generation, churn.is_there) == (None, "create", 0, False)


def test_who_is_abandoned_ends_at_once(churn):
    churn.abandon()
    churn.thread.join(10)
    assert not churn.thread.is_alive()
