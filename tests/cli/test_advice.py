"""What to do about a failure: for what Kafka calls it, whoever it reaches us by."""

import re
from pathlib import Path

import pytest

from headrace.cli import advice
from headrace.cli.advice import advice_for
from headrace.client.connection import ConnectionFailed
from headrace.client.failures import DeliveryFailed
from headrace.errors import ErrorCode, HeadraceError, KafkaError


def test_an_error_of_the_broker_has_its_advice_and_so_has_a_record_that_failed_of_it():
    failure = KafkaError(ErrorCode.MESSAGE_TOO_LARGE, "of 2 MB")
    assert "max.message.bytes" in advice_for(failure)
    assert advice_for(DeliveryFailed(1, failure)) == advice_for(failure)


@pytest.mark.parametrize("failure", [HeadraceError("x"), KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "x")])
def test_where_nothing_helps_nothing_is_said(failure):
    assert advice_for(failure) == ""


def test_nobody_at_the_address_is_no_error_of_kafkas():
    assert "headrace dev" in advice_for(ConnectionFailed("refused"))


def test_commands_that_are_advised_exist():
    named = {name for text in advice._ADVICE.values() for name in re.findall(r"`headrace (\w+)", text)}
    assert named
    assert not [name for name in named if not Path(advice.__file__).with_name(f"{name}.py").exists()]
