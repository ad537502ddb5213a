"""The columns of `headrace.arrow` as Spark types (DDL), and how Spark takes a column's name."""

SPARK_TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
    "key_length": "int",
    "value_length": "int",
}


def quoted(name: str) -> str:
    """A column's name as Spark's `col`, `select` and `groupBy` take it whatever is in it: a dot there means a field within."""
    return f"`{name.replace('`', '``')}`"
