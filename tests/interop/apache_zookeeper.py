"""`python -m tests.interop.apache_zookeeper DIRECTORY PORT`: Apache's server as a command for `kazoo_harness.py`.

Prints `ready zookeeper=HOST:PORT`; port 0 is any free one. Ends with SIGTERM.
"""

import signal
import sys
from pathlib import Path

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper


def main():
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    server = EmbeddedZooKeeper(Path(sys.argv[1]), int(sys.argv[2]))
    server.start()
    try:
        print(f"ready zookeeper={server.connect}", flush=True)
        signal.sigwait(signals)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
