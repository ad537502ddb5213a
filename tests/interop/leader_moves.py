"""Leaders move from broker to broker under load, again and again, without anybody stopping: what do the brokers' logs say?

`python -m tests.interop.leader_moves --kinds kafka,headrace,kafka --controller headrace --moves 200 [--ibp 2.6]`

A move: the topic's replicas are put into another order, and the preferred leaders elected. Says how many ERROR lines there are, by what
they say: with three Kafka brokers it says what of that is Kafka's own.
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.interop.broker_logs import severe_lines
from tests.interop.mixed_cluster import KINDS
from tests.interop.swap_campaign import IBPS, JAVA, NATIVE, PARTITIONS, Campaign

ORDERS = ([1, 2, 3], [2, 3, 1], [3, 1, 2])
PAUSE_S = 0.3  # between two moves
NAMED = re.compile(r"(\w+(?:Exception|Error))\b")


class Moves:
    """One cluster, whose leaders move."""

    def __init__(self, directory, kinds, ibp, seed, replaced=("kafka",)):
        self._campaign = Campaign(directory, ibp, seed, replaced)
        self.cluster = self._campaign.cluster
        for member, kind in zip(self.cluster.members.values(), kinds, strict=True):
            member.kind = kind

    def run(self, moves, controller):
        """Returns what is wrong but for ERROR lines, and these by what they say."""
        campaign, cluster = self._campaign, self.cluster
        campaign.start()
        cluster.move_controller([one.broker_id for one in cluster.members.values() if one.kind == controller])
        loads = campaign._begin_loads()
        time.sleep(1)
        for number in range(moves):
            self._move(ORDERS[number % len(ORDERS)])
            time.sleep(PAUSE_S)
        for load in loads:
            load.stop()
        found = Counter()
        for member in cluster.members.values():
            for line in severe_lines(member.log_file):
                found[f"{member.kind}: {(NAMED.search(line) or [line, line[:150]])[1]}"] += 1
        wrong = [one for one in campaign.judge() if "ERROR" not in one]
        return wrong, found, sum(len(load.acked) for load in loads)

    def _move(self, order):
        places = [(topic, index) for topic in (NATIVE, JAVA) for index in range(PARTITIONS)]
        wanted = [{"topic": topic, "partition": index, "replicas": order} for topic, index in places]
        self._ask("/admin/reassign_partitions", {"version": 1, "partitions": wanted})
        wanted = [{"topic": topic, "partition": index} for topic, index in places]
        self._ask("/admin/preferred_replica_election", {"version": 1, "partitions": wanted})

    def _ask(self, path, wanted):
        keeper = self.cluster.keeper
        keeper.create(path, json.dumps(wanted).encode())
        self.cluster.wait_until(lambda: not keeper.exists(path), f"{path} is still there")

    def close(self):
        self._campaign.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default="kafka,kafka,kafka")
    parser.add_argument("--controller", choices=KINDS, default="kafka")
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--ibp", choices=IBPS, default="3.9")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="headrace-moves-"))
    moves = Moves(directory, given.kinds.split(","), given.ibp, given.seed)
    try:
        wrong, found, acked = moves.run(given.moves, given.controller)
    finally:
        moves.close()
    print(
        f"kinds={given.kinds} controller={given.controller} ibp={given.ibp} moves={given.moves} acked={acked} {dict(found)}"
    )
    for one in wrong:
        print(one, file=sys.stderr)
    shutil.rmtree(directory) if not wrong and not found else print(f"kept: {directory}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
