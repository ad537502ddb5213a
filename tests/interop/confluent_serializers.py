"""Confluent's serializers at work, in a virtual environment of their own: one JSON document of jobs on stdin, one of results on stdout.

    {"registry": url, "jobs": [[form, what, topic, schema, content], ...]}
    form      avro, protobuf, json
    what      serialize: content is a dict, the result Base64;  deserialize: the other way
    schema    JSON text; of Protobuf (name of the message, FileDescriptorSet in Base64)

It imports nothing of ours.
"""

import base64
import json
import sys

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, json_format
from google.protobuf.message_factory import GetMessageClass


def main():
    given = json.load(sys.stdin)
    client = SchemaRegistryClient({"url": given["registry"]})
    json.dump([work(client, *job) for job in given["jobs"]], sys.stdout)


def work(client, form, what, topic, schema, content):
    context = SerializationContext(topic, MessageField.VALUE)
    if form == "protobuf":
        message = message_of(*schema)
        if what == "serialize":
            one = ProtobufSerializer(message, client, {"use.deprecated.format": False})
            return encoded(one(json_format.ParseDict(content, message()), context))
        one = ProtobufDeserializer(message, {"use.deprecated.format": False})
        return json_format.MessageToDict(one(base64.b64decode(content), context))
    serializer, deserializer = (
        (AvroSerializer, AvroDeserializer) if form == "avro" else (JSONSerializer, JSONDeserializer)
    )
    if what == "serialize":
        one = serializer(client, schema) if form == "avro" else serializer(schema, client)
        return encoded(one(content, context))
    one = deserializer(client, schema) if form == "avro" else deserializer(schema)
    return one(base64.b64decode(content), context)


def message_of(name, files):
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(files)).file:
        pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(name))


def encoded(data):
    return base64.b64encode(data).decode()


if __name__ == "__main__":
    main()
