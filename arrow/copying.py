"""memcpy between two addresses, for the kernels.

Runs in: Spark's Python workers, inside of compiled functions.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def copy_bytes(typing_context: Any, target: Any, source: Any, size: Any) -> Any:
    """memcpy between two addresses: Numba's own loop or slice takes 135 or 40 ns for 100 bytes, this 4."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        byte_pointer = ir.IntType(8).as_pointer()
        target, source = (builder.inttoptr(address, byte_pointer) for address in arguments[:2])
        cgutils.raw_memcpy(builder, target, source, arguments[2], 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp), generate
