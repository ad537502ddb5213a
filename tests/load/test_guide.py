"""The Python of docs/loading.md runs as it stands."""

import ast
import re

from headrace.load.history import dead_letters
from tests.load.loading import fill
from tests.support.tree import ROOT

GUIDE = ROOT / "docs" / "loading.md"


def test_every_statement_of_the_guide_gives_what_it_says(log, broker, tmp_path):
    fill(log, count=99, value=b'{"page": "home", "ms": %d}')
    fill(log, count=1, value=b"bad %d")
    (fence,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names = {"b": broker.address}
    results = []
    for statement in ast.parse(fence.replace("/data/", f"{tmp_path}/")).body:
        if isinstance(statement, ast.Expr):
            results.append(eval(compile(ast.Expression(statement.value), "guide", "eval"), names))
        else:
            exec(compile(ast.Module([statement], []), "guide", "exec"), names)
    records, in_files, rows, in_both, height, _done, decoded, _snapshot, faults, *upkeep = results
    assert (records, in_files, rows, in_both, height) == (100, [(100,)], 100, [(100,)], 100)
    assert (decoded, faults) == (99, [])
    assert upkeep[:3] == [0, 0, 0]
    assert upkeep[3].startswith("all agree; compared: commits")
    assert dead_letters(tmp_path / "pages").to_table()["offset"].to_pylist() == [99]
