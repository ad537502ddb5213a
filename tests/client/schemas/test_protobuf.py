"""Plain Protobuf: messages there and back, and what is refused."""

import pytest

from headrace.client.schemas.failures import BadRecord
from headrace.client.schemas.protobuf import Protobuf
from tests.support.order_messages import Line, Money, Order


def test_messages_go_there_and_back():
    one = Protobuf(Order)
    order = Order(id=7, price=Money(cents=5), line=Line(sku="a"))
    data = one.serialize("t", order)
    assert data == b"\x08\7\x12\2\x08\5\x1a\3\n\1a"
    assert one.deserialize("t", data) == order
    with pytest.raises(BadRecord, match="not a message"):
        one.deserialize("t", b"\xff")
    with pytest.raises(TypeError, match="a value of type dict is not a Order"):
        one.serialize("t", {})
    with pytest.raises(TypeError, match="expected a generated Protobuf message class, not 3"):
        Protobuf(3)
