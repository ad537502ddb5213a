"""The program and a topic of one's own."""

import uuid

import pytest

from tests.cli.program import Program


@pytest.fixture
def program(node):
    program = Program(node.bootstrap)
    yield program
    program.close()


@pytest.fixture
def topic(program):
    name = f"cli-{uuid.uuid4().hex[:8]}"
    program("topics", "create", name, "--partitions", "3")
    return name
