"""Write the generated files, or compare them: `python -m tools.generate [--check]` (`make codec`, `make lint`).

    protocol/schema  --  tools/codec          protocol/messages, decoders, encoders, message_table.py
    headrace/settings.py  --  tools/setting_types.py          headrace/setting_types.py

The files are checked in. They are formatted as every source is; a generated file that nothing makes any more is removed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.codec import files, function_file
from tools.setting_types import setting_types

ROOT = Path(__file__).resolve().parent.parent
SETTING_TYPES = "headrace/setting_types.py"


def generated() -> dict[str, str]:
    """Path from the root -> text of every generated file."""
    made = {**files.files(), SETTING_TYPES: setting_types()}
    return {
        path: function_file.with_places(text) if path.startswith(files.FUNCTIONS) else text
        for path, text in formatted(made).items()
    }


def formatted(texts: dict[str, str]) -> dict[str, str]:
    """The same texts with their imports sorted, formatted by the project's rules."""
    with tempfile.TemporaryDirectory(prefix="headrace-codec-") as temporary:
        for path, text in texts.items():
            place = Path(temporary, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        ruff = [sys.executable, "-m", "ruff"]
        config = ["--config", str(ROOT / "pyproject.toml"), "--no-cache", "--quiet", "."]
        for command in (["check", "--select", "I", "--fix"], ["format"]):
            subprocess.run([*ruff, *command, *config], cwd=temporary, check=True)
        return {path: Path(temporary, path).read_text() for path in texts}


def present() -> set[str]:
    """Paths of the files that are in the generated folders."""
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in files.FOLDERS
        for path in (ROOT / folder).glob("*.py")
        if path.name not in files.KEPT
    }
    return found | {path for path in (SETTING_TYPES, "protocol/message_table.py") if (ROOT / path).exists()}


def differing(made: dict[str, str]) -> list[str]:
    """Paths whose file is missing, is not what is generated, or is not generated any more."""
    stale = [path for path in sorted(made) if not (ROOT / path).exists() or (ROOT / path).read_text() != made[path]]
    return stale + sorted(present() - made.keys())


def main() -> int:
    made = generated()
    different = differing(made)
    if "--check" in sys.argv[1:]:
        for path in different:
            print(f"{path} is not what the schema and the settings say: make codec", file=sys.stderr)
        return 1 if different else 0
    for path in different:
        if path in made:
            (ROOT / path).parent.mkdir(exist_ok=True)
            (ROOT / path).write_text(made[path])
        else:
            (ROOT / path).unlink()
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
