"""The jars of the peers, resolved by Maven from the coordinates in `bench/peers/pom.xml` into `build/peers`, once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
POM = ROOT / "bench" / "peers" / "pom.xml"


def jars(profile: str) -> list[Path]:
    """Jars of `kafka` (broker, tools, clients) or `connector` (Spark's Kafka source).

    raises   SystemExit, where mvn is missing or can't resolve them
    """
    folder = ROOT / "build" / "peers" / profile
    if not folder.is_dir():
        if shutil.which("mvn") is None:
            raise SystemExit("mvn is needed to fetch the peers (apt-get install maven)")
        print(f"fetching the jars of {profile} ...", flush=True)
        command = ["mvn", "-q", "-f", str(POM), f"-P{profile}", "dependency:copy-dependencies"]
        done = subprocess.run([*command, f"-DoutputDirectory={folder}"], capture_output=True, text=True)
        if done.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            raise SystemExit(f"mvn failed:\n{done.stdout[-2000:]}")
    return sorted(folder.glob("*.jar"))
