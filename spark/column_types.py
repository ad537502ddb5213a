"""The columns of `headrace.arrow` as Spark types (DDL)."""

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
