"""The network worker of this folder."""

import pytest

from tests.workers.network.network_rig import Rig


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    yield rig
    rig.close()
