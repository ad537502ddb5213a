"""A group coordinator without a process."""

import pytest

from tests.workers.coordinators.group.group_fixtures import Desk


@pytest.fixture
def desk():
    return Desk()
