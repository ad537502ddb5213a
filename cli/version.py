"""`headrace version`: which Headrace, on which Python."""

from __future__ import annotations

import platform

EXAMPLES = "[bold]Example[/bold]   headrace version"


def version() -> None:
    """Print the versions of Headrace and of the Python it runs on."""
    from headrace import __version__

    print(f"headrace {__version__} (Python {platform.python_version()})")
