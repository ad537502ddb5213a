"""The cookbook of docs/spark.md runs as it stands."""

import ast
import re
from pathlib import Path

from headrace.ids import TopicPartition
from headrace.protocol.record_batch import Record
from headrace.spark import explain, read_counts, refresh, register, scan, stream, write_parquet

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"


def test_every_recipe_of_the_cookbook_gives_what_it_says(spark, log, broker, tmp_path):
    values = [b'{"page": "home", "ms": %d}' % number for number in range(99)] + [b"an error"]
    records = [Record(offset, 1_700_000_000_000 + offset, None, value) for offset, value in enumerate(values)]
    log.append(TopicPartition("clicks", 0), records)
    (fence,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names = {
        "spark": spark,
        "b": broker.address,
        "scan": scan,
        "stream": stream,
        "write_parquet": write_parquet,
        "refresh": refresh,
        "explain": explain,
        "read_counts": read_counts,
        "print": lambda *words: printed.append(words),
    }
    printed = []
    register(spark)
    results = []
    for statement in ast.parse(fence.replace("/data/", f"{tmp_path}/")).body:
        if isinstance(statement, ast.Expr):
            results.append(eval(compile(ast.Expression(statement.value), "guide", "eval"), names))
        else:
            exec(compile(ast.Module([statement], []), "guide", "exec"), names)
    pages, bad, _said, _rows, counts, by_options, errors, sizes, pattern, _view, files = results
    assert {(row.page, row["count"]) for row in pages.collect()} == {("home", 99), (None, 1)}
    assert {(row.page, row["count"]) for row in by_options.collect()} == {("home", 99), (None, 1)}
    assert [(row.offset, row._corrupt) for row in bad.collect()] == [(99, "value: not a JSON object: b'an error'")]
    assert names["slow"].count() == 9
    assert counts.local_share == 1.0
    assert errors.count() == 1
    assert sizes.first()[0] == sum(map(len, values))
    assert pattern.columns[-1] == "headers"
    assert pattern.count() == 100
    assert sum(row.rows for row in files) == 100
    assert names["query"].awaitTermination(120)
    (explained,), micro_batch = printed
    assert explained.startswith("scan of clicks: ")
    assert micro_batch == (0, sum(map(len, values)))
    assert spark.sql("SELECT count(*) FROM clicks").first()[0] == 100
    assert refresh(spark.table("clicks")).count() == 100
    spark.catalog.dropTempView("clicks")
