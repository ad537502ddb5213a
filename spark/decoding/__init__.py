"""Formats for `decode=`: `json`, `csv`, `text`, `avro`, `protobuf`. Each makes a decoder, checked at once, pickled to the workers."""

from headrace.spark.decoding.csv_records import csv
from headrace.spark.decoding.json_records import json
from headrace.spark.decoding.text_records import text

__all__ = ["csv", "json", "text"]
