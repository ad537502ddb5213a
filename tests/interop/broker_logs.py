"""Lines of brokers' logs that no run may have: ERROR and worse, uncaught exceptions; and the few that are as they should be."""

import re

SEVERE = re.compile(
    r"^\d\d\d\d-\d\d-\d\d \S+ (ERROR|FATAL|CRITICAL) |^Exception in thread|^Traceback \(most recent call last\)"
)
# a line, and why it means nothing
ALLOWED = {}
ALLOWED_LINES = {re.compile(pattern): reason for pattern, reason in ALLOWED.items()}


def severe_lines(path, position=0):
    """Lines from a position on that say that something is wrong, each with the line after it where it has a stack."""
    with open(path, "rb") as file:
        file.seek(position)
        lines = file.read().decode(errors="replace").splitlines()
    found = []
    for number, line in enumerate(lines):
        if SEVERE.match(line) and not any(pattern.search(line) for pattern in ALLOWED_LINES):
            more = [one for one in lines[number + 1 : number + 3] if not re.match(r"\d\d\d\d-", one)]
            found.append("\n    ".join([line, *more]))
    return found
