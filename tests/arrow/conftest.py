"""A log directory, and a broker that serves it; each test by both walkers."""

import pytest

from tests.support import walkers
from tests.support.file_log_fixtures import broker, log, remote_broker

__all__ = ["broker", "log", "remote_broker"]


@pytest.fixture(autouse=True, params=["kernel", "python"])
def walker(request):
    with pytest.MonkeyPatch.context() as patched:
        walkers.use(patched, request.param)
        yield
