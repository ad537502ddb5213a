"""Orders in each form: an Avro schema, a Protobuf message within a message, which imports a file; and a pool of that."""

import base64
import json

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message_factory import GetMessageClass

FIELD = descriptor_pb2.FieldDescriptorProto
ORDER_AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
    }
)
ORDER_JSON = json.dumps(
    {
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "note": {"type": ["string", "null"]}},
        "required": ["id"],
    }
)


def _files():
    """shop/money.proto: Money; shop/order.proto imports it: Other, Order { Line { sku }, id, price, line }."""
    money = descriptor_pb2.FileDescriptorProto(name="shop/money.proto", package="shop", syntax="proto3")
    one = money.message_type.add(name="Money")
    one.field.add(name="cents", number=1, type=FIELD.TYPE_INT64, label=FIELD.LABEL_OPTIONAL)
    order = descriptor_pb2.FileDescriptorProto(name="shop/order.proto", package="shop", syntax="proto3")
    order.dependency.extend(["shop/money.proto", "google/protobuf/timestamp.proto"])
    order.message_type.add(name="Other").field.add(
        name="sku", number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL
    )
    outer = order.message_type.add(name="Order")
    line = outer.nested_type.add(name="Line")
    line.field.add(name="sku", number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
    outer.field.add(name="id", number=1, type=FIELD.TYPE_INT64, label=FIELD.LABEL_OPTIONAL)
    for name, number, kind in (("price", 2, "shop.Money"), ("line", 3, "shop.Order.Line")):
        outer.field.add(
            name=name, number=number, type=FIELD.TYPE_MESSAGE, type_name=f".{kind}", label=FIELD.LABEL_OPTIONAL
        )
    outer.field.add(
        name="at", number=4, type=FIELD.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=FIELD.LABEL_OPTIONAL
    )
    return money, order


def _timestamp():
    from google.protobuf import timestamp_pb2

    found = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(found)
    return found


FILES = (_timestamp(), *_files())
_POOL = descriptor_pool.DescriptorPool()
for _file in FILES:
    _POOL.AddSerializedFile(_file.SerializeToString())
# what protoc would have made
Order = GetMessageClass(_POOL.FindMessageTypeByName("shop.Order"))
Line = GetMessageClass(_POOL.FindMessageTypeByName("shop.Order.Line"))
Other = GetMessageClass(_POOL.FindMessageTypeByName("shop.Other"))
Money = GetMessageClass(_POOL.FindMessageTypeByName("shop.Money"))


def file_set():
    """The files as Base64, for another process."""
    return base64.b64encode(descriptor_pb2.FileDescriptorSet(file=FILES).SerializeToString()).decode()
