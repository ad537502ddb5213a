"""Each operation of each program in Python that maintains a table, at each moment: `maintained_table.py` says what a cell has to show.

Spark's own Delta and Iceberg: tests/interop/test_spark_tables.py.
"""

import pytest

from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.maintained_table import cells, run_cell
from tests.load.table_writers import PYTHON

__all__ = ["icebergs_threads_end"]


@pytest.mark.parametrize(("table", "operation", "moment"), cells(PYTHON))
def test_rows_are_those_of_the_model_and_the_load_goes_on(log, broker, tmp_path, table, operation, moment):
    run_cell(log, broker, table(tmp_path), operation, moment)
