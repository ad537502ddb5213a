"""Many nodes in one request (`multiRead`, op 22, ZooKeeper 3.6 and later), which kazoo does not have.

    request    [MultiHeader(4, false, -1) | path | watch=false]...  MultiHeader(-1, true, -1)
    response   [MultiHeader(4, false, 0) | data | Stat]  or  [MultiHeader(-1, false, code) | code]...  MultiHeader(-1, true, -1)

A `get` of kazoo's costs some 100 µs of Python on two threads; a node of a multi-read a tenth of that, and a successor of the active
controller reads the state of every partition of the cluster before it acts.

Runs in: the controller process; encoded and decoded in kazoo's thread. Source: ZooKeeper `MultiOperationRecord`, `MultiResponse`.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import EXCEPTIONS, NoNodeError
from kazoo.protocol.serialization import GetData, MultiHeader
from kazoo.protocol.states import ZnodeStat

_HEADER = Struct(">i?i")
_INT = Struct(">i")
_STAT = Struct(">qqqqiiiqiiq")
_END = _HEADER.pack(-1, True, -1)
_NO_NODE = int(NoNodeError.code)

Found = tuple[bytes, ZnodeStat] | None


class MultiRead:
    """One request, as kazoo's connection wants it.

    paths   with the chroot
    """

    type = 22

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths

    def serialize(self) -> bytes:
        header = MultiHeader(GetData.type, False, -1).serialize()
        parts: list[bytes] = []
        for path in self._paths:
            parts += (header, GetData(path, None).serialize())
        return b"".join((*parts, _END))

    def deserialize(self, body: bytes, offset: int) -> list[Found]:
        """The nodes in the order of their paths, None for one that is not there. raises KazooException, for another error"""
        found: list[Found] = []
        while True:
            kind, is_done, _code = _HEADER.unpack_from(body, offset)
            offset += _HEADER.size
            if is_done:
                return found
            (size,) = _INT.unpack_from(body, offset)  # of the data, or the error's code
            offset += _INT.size
            if kind == GetData.type:
                end = offset + max(0, size)
                found.append((bytes(body[offset:end]), ZnodeStat._make(_STAT.unpack_from(body, end))))
                offset = end + _STAT.size
            elif size == _NO_NODE:
                found.append(None)
            else:
                raise EXCEPTIONS[size]


def read_many(client: KazooClient, paths: list[str]) -> Any:
    """Ask for nodes; returns kazoo's asynchronous result, which will have what `MultiRead.deserialize` returns."""
    result = client.handler.async_result()
    client._call(MultiRead(paths), result)
    return result
