"""quixstreams' tests that meet a broker: the library from PyPI, the tests from a clone, since it has no source distribution."""

from __future__ import annotations

from tests.foreign.python_suite import PythonSuite, extract

VERSION = "3.25.0"


class Quixstreams(PythonSuite):
    name = "quixstreams"
    deadline_s = 3600
    clusters = 2  # it replicates from the second one
    packages = (
        f"quixstreams=={VERSION}",
        "docker==7.1.0",
        "pytest==9.0.2",
        "pytest-timeout==2.4.0",
        "testcontainers[postgres]==4.13.2",
    )
    # tests of sinks and joins that need databases of others to be imported at all
    options = (
        "--ignore=tests/test_quixstreams/test_sinks",
        "--ignore=tests/test_quixstreams/test_dataframe/test_joins/test_lookup_postgres.py",
    )
    fixtures = "foreign_fixtures.for_quixstreams"
    prefix = "tests.test_quixstreams."

    def bring_source(self) -> None:
        extract("quixio/quix-streams", f"v{VERSION}", ("tests", "pyproject.toml"), self.source)
