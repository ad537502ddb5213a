"""Keys, header versions and what is advertised."""

import pytest

from headrace.protocol.apis import ADVERTISED, ApiKey, request_header_version, response_header_version
from tools.codec.field_tables import load_message


@pytest.mark.parametrize("key", list(ApiKey), ids=str)
def test_every_key_has_its_request_and_response(key):
    request, response = load_message(f"{key.api_name}Request"), load_message(f"{key.api_name}Response")
    assert request.versions == response.versions


def test_advertised_versions_are_in_the_schema():
    for key, (low, high) in ADVERTISED.items():
        versions = load_message(f"{ApiKey(key).api_name}Request").versions
        assert versions.low <= low <= high <= versions.high


def test_minimum_versions_that_old_clients_look_for():
    """librdkafka before 2.11.1 asks for Produce v0 by name."""
    assert ADVERTISED[ApiKey.PRODUCE][0] == 0


def test_topics_with_ids_can_be_fetched_by_them():
    """@platformatic/kafka takes an id from Metadata 10 on for what Fetch asks for, whatever version that has."""
    assert ADVERTISED[ApiKey.METADATA][1] >= 10
    assert ADVERTISED[ApiKey.FETCH][1] >= 13


def test_header_versions_and_their_exceptions():
    assert [request_header_version(ApiKey.PRODUCE, version) for version in (0, 8, 9)] == [1, 1, 2]
    assert [response_header_version(ApiKey.PRODUCE, version) for version in (0, 8, 9)] == [0, 0, 1]
    assert [request_header_version(ApiKey.API_VERSIONS, version) for version in (0, 2, 3)] == [1, 1, 2]
    assert [response_header_version(ApiKey.API_VERSIONS, version) for version in (0, 2, 3)] == [0, 0, 0]
    assert [request_header_version(ApiKey.CONTROLLED_SHUTDOWN, version) for version in (0, 1, 2, 3)] == [0, 1, 1, 2]
