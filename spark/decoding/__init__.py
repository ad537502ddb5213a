"""Formats for `decode=`: `json`, `csv`, `text`, `avro`, `protobuf`. Each makes a decoder, checked at once, pickled to the workers."""

from headrace.spark.decoding.avro_records import avro
from headrace.spark.decoding.csv_records import csv
from headrace.spark.decoding.json_records import json
from headrace.spark.decoding.protobuf_records import protobuf
from headrace.spark.decoding.text_records import text

__all__ = ["avro", "csv", "json", "protobuf", "text"]
