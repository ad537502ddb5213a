"""Serializers with schemas: Avro, Protobuf, JSON, and a schema registry. What a user needs is in `headrace.client`."""
