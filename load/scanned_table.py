"""A table that DuckDB, Polars, pandas and pyarrow read, each with its own projection and filter.

DuckDB pushes both down into what it knows as a data set of pyarrow, by the method `scanner`. So these tables are such data sets, whose
scanner is ours. Arrow's own code, below the class, has a file that does not exist: what does not go through `scanner` fails by its name,
and never finds a table without rows.

    reader                       takes
    duckdb.sql("... from t")     t.scanner(columns=, filter=)
    t.lazy() (Polars)            the same, by `polars_scan.py`
    polars.DataFrame(t), pandas  t.__arrow_c_stream__()
    t.to_table(...), t.head(n)   methods of the data set, which call t.scanner

Source: Arrow PyCapsule interface; pyarrow.dataset.Dataset.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from headrace.load.pruning import pruning_of
from headrace.load.table_scan import TableScan

if TYPE_CHECKING:
    import polars

    from headrace.load.table_scan import Moment, Place

NO_FILE = "/(a table of headrace is read by its method scanner)"


class ScannedTable(ds.FileSystemDataset):  # type: ignore[misc]  # pyarrow has no types
    """Rows of a table.

    where    of all rows that it shows; None: all
    """

    def __init__(self, place: Place, schema: pa.Schema, where: pc.Expression | None) -> None:
        """raises   ValueError, where the filter can't be computed"""
        kind = ds.ParquetFileFormat()
        files = LocalFileSystem()
        super().__init__([kind.make_fragment(NO_FILE, files)], schema, kind, files)
        self._place = place
        self._where = where
        pruning_of(where, schema)

    @abstractmethod
    def _moment(self) -> Moment:
        """That a scan is of. raises DataLoss, TopicReplaced"""

    def _again(self) -> Any:
        """For another moment, where a file of the first one is gone; None: there is no other."""
        return None

    @abstractmethod
    def _filtered(self, where: pc.Expression) -> ScannedTable:
        """This table with another filter."""

    def scanner(
        self, columns: Sequence[str] | None = None, filter: pc.Expression | None = None, **_given: Any
    ) -> TableScan:
        """A scan of one moment: that of now, or of the snapshot.

        columns    in this order; None: all
        filter     an expression of pyarrow.compute over the table's columns, whether they are wanted or not
        returns    an object with `to_reader`, `to_batches`, `to_table`, `count_rows`, `head` and `take`
        raises     ValueError, DataLoss, TopicReplaced
        """
        moment = self._moment()
        names = moment.schema.names if columns is None else list(columns)
        unknown = [name for name in names if name not in moment.schema.names]
        if isinstance(columns, dict) or unknown:
            raise ValueError(f"columns {unknown or columns}: names of the columns {', '.join(moment.schema.names)}")
        where = _both(self._where, filter)
        return TableScan(self._place, moment, names, pruning_of(where, moment.schema), self._again())

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """One pass.

        raises   what `scanner` and `TableScan.to_batches` raise
        """
        yield from self.scanner().to_batches()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.scanner().to_reader().__arrow_c_stream__(requested_schema)

    def read_all(self) -> pa.Table:
        """All of it, in memory."""
        return self.scanner().to_table()

    def lazy(self) -> polars.LazyFrame:
        """The same for Polars: what a query selects and filters is pushed down. raises ImportError, without Polars"""
        from headrace.load.polars_scan import lazy_frame

        return lazy_frame(self)

    def filter(self, expression: pc.Expression) -> ScannedTable:
        """The rows of this table that match, as a table. raises ValueError"""
        where = _both(self._where, expression)
        pruning_of(where, self.schema)
        return self._filtered(where)

    def sort_by(self, sorting: Any, **given: Any) -> ds.Dataset:
        """All rows, in memory and in this order."""
        return ds.dataset(self.read_all()).sort_by(sorting, **given)

    def join(self, *given: Any, **named: Any) -> ds.Dataset:
        """All rows, in memory, joined with others."""
        return ds.dataset(self.read_all()).join(*given, **named)

    def join_asof(self, *given: Any, **named: Any) -> ds.Dataset:
        """The same by the nearest."""
        return ds.dataset(self.read_all()).join_asof(*given, **named)

    def get_fragments(self, *_given: Any, **_named: Any) -> Any:
        """raises   TypeError"""
        raise TypeError("rows of the log have no fragment: use scanner, or headrace.load.dataset for the history")

    def replace_schema(self, schema: pa.Schema) -> Any:
        """raises   TypeError, for other types than it has"""
        if schema.equals(self.schema):
            return self
        raise TypeError("a table's types are those of its history: cast them in the query")

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} can't be pickled: make it by headrace.table in the other process")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._place.topic} of {self._place.target.name}>"


def _both(one: pc.Expression | None, other: pc.Expression | None) -> pc.Expression | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
