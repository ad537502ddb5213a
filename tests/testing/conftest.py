"""The plugin's fixtures, as a user's session has them: the plugin itself is off here, where `pure_form` has to come first."""

import pytest

from headrace.testing.keeper_client import keeper
from headrace.testing.plugin import kafka as kafka
from headrace.testing.plugin import kafka_cluster as kafka_cluster
from headrace.testing.plugin import kafka_topic as kafka_topic


@pytest.fixture(scope="session", autouse=True)
def keeper_ends():
    yield
    keeper().end()
