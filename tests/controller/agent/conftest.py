"""A node after its machine went down."""

import pytest

from tests.controller.holding_node import Rig


@pytest.fixture
def rig(new_node, ensemble):
    return Rig(new_node, ensemble)
