"""Write the stubs that type checkers read beside the links: `python tests/support/write_stubs.py build/typing/headrace`.

protocol/schema     messages.pyi   a named tuple for each message and struct
                    codec.pyi      what decoding returns, by key
headrace/settings   settings.pyi   each key with the type of its value
"""

import sys
from pathlib import Path

from headrace.protocol.message_stubs import codec_stub, messages_stub
from headrace.settings_stub import settings_stub

STUBS = {
    "protocol/messages.py": messages_stub,
    "protocol/codec.py": codec_stub,
    "settings.py": settings_stub,
}


def write_stubs(root: Path) -> None:
    """Write what is not as it should be; what is stays untouched, so that mypy need not read it again."""
    for name, stub_of in STUBS.items():
        path = (root / name).with_suffix(".pyi")
        text = stub_of((root / name).read_text())
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    write_stubs(Path(sys.argv[1]))
