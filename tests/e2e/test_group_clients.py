"""Four clients in one group: members join, die by SIGKILL, others take over. Nothing is left out, nothing done twice."""

import sys
from pathlib import Path

from tests.chaos.mixed_group import faults_of, run_group

MEMBER = Path(__file__).parent / "group_member.py"
CLIENTS = ["confluent", "kafka-python", "aiokafka", "headrace"]


def test_members_of_four_clients_share_one_group_and_die(node, tmp_path):
    def command(client):
        return lambda topic, group: [sys.executable, str(MEMBER), client, node.bootstrap, topic, group]

    everyone = run_group(tmp_path, node.bootstrap, {client: command(client) for client in CLIENTS}, seed=4)
    assert not faults_of(everyone)
    workers = {member.name for member in everyone if any("committed" in line for line in member.lines())}
    assert workers == set(CLIENTS), "each client took part"


def test_the_judge_sees_a_record_done_twice_and_a_position_that_went_back(tmp_path):
    class Told:
        def __init__(self, name, *lines):
            self.output = Path(name)
            self._lines = lines

        def lines(self):
            return self._lines

    first = Told("a", {"t": 1, "read": [[0, 0], [0, 1]]}, {"t": 2, "committed": {"0": 2}})
    second = Told("b", {"t": 3, "read": [[0, 1]]}, {"t": 4, "committed": {"0": 1}})
    assert len(faults_of([first, second])) == 2
