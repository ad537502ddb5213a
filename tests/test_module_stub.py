"""What a stub keeps of its module."""

import pytest

from headrace.module_stub import module_stub

SOURCE = '''
"""A module."""

from __future__ import annotations

import os
from typing import Any

LIMIT = 3
_HIDDEN = 4
TABLE: dict[str, int] = {"a": 1}


class Thing:
    """A thing."""

    size: int = 3

    def __init__(self, name: str) -> None:
        self.name: str = name
        self._secret: int = 1

    @property
    def length(self) -> int:
        """Its length."""
        return 1

    def value(self, key: str) -> Any:
        return key

    def _private(self) -> None: ...


class _Hidden:
    pass


def act(count: int = 1) -> str:
    """Acts."""
    return str(count)


def _hidden() -> None: ...
'''


def test_bodies_docstrings_and_what_is_private_go():
    text = module_stub(SOURCE, {})
    for kept in (
        "from __future__ import annotations",
        "LIMIT = 3",
        "TABLE: dict[str, int]\n",
        "    size: int = ...",
        "    name: str\n",
        "    def __init__(self, name: str) -> None:\n        ...",
        "    @property\n    def length(self) -> int:\n        ...",
        "def act(count: int=1) -> str:\n    ...",
    ):
        assert kept in text
    for gone in ("_HIDDEN", "_Hidden", "_private", "_secret", "_hidden", "A thing", "Acts", "return", '"a"'):
        assert gone not in text


def test_a_replaced_name_has_the_text_given_at_its_own_indentation():
    text = module_stub(
        SOURCE, {"Thing.value": "def value(self, key: int) -> int: ...", "LIMIT": "LIMIT: int"}, "import re\n"
    )
    assert "    def value(self, key: int) -> int: ..." in text
    assert "\nLIMIT: int\n" in text
    assert text.index("import os") < text.index("import re") < text.index("class Thing")
    assert "key: str" not in text


def test_a_name_to_be_replaced_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"Thing\.nothing"):
        module_stub(SOURCE, {"Thing.nothing": ""})
