"""pyiceberg's threads, which it keeps for a process: they end with a module of tests, and the next module has others."""

import pytest
from pyiceberg.utils.concurrent import ExecutorFactory


@pytest.fixture(scope="module", autouse=True)
def icebergs_threads_end():
    yield
    ExecutorFactory.get_or_create().shutdown()
    ExecutorFactory._instance = None
