"""The jobs of `examples/`: batches against plain Python, streams against batches, counts made in the workers against both."""

import json
import uuid
from collections import Counter, defaultdict
from datetime import datetime
from functools import reduce

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from examples import in_worker, run_job
from examples.activity import SCHEMA, Activity, from_access_log, made_up
from examples.jobs import JOBS
from examples.write_activity import write
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.spark import scan

DEADLINE_S = 120
START_MS = 1_700_002_800_000  # a whole hour
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
PAUSE = 30 * MINUTE
# its time closes the windows of all others
LAST = Activity(START_MS + 3 * DAY, "zoe", "10.1.1.1", "view", "/shop", "shop", 200, 1, 1)
ACTIVITY = [*made_up(1500, START_MS, pause_ms=4000, seed=3), LAST]
SETTINGS = {"feed": {"last": 3}, "bans": {"requests": 12, "failures": 3}, "top": {"pages": 2}}
ALL_COLUMNS = JOBS["feed"]._replace(columns="timestamp,user,address,action,page,service,status,sent_bytes,ms")


class Topics:
    """A topic of activity on a node, and topics of one's own beside it."""

    def __init__(self, node):
        self.bootstrap = node.bootstrap
        self.activity = self._name("activity")
        bad = Activity(START_MS, "bad", "", "", "", "", 0, 0, 0)
        bad_value = type("Bad", (Activity,), {"value": lambda self: b"no activity"})(*bad)
        assert write(self.bootstrap, self.activity, [bad_value, None, *ACTIVITY], partitions=1) == (
            len(ACTIVITY) + 1,
            1,
        )

    def stream(self, spark, job=ALL_COLUMNS, **options):
        return run_job.read_stream(spark, job, self.activity, self.bootstrap, late="10 minutes", **options)

    def make(self, name):
        made = self._name(name)
        with Cluster(self.bootstrap) as cluster:
            assert Admin(cluster).create_topics([NewTopic(made, 1)]) == {made: None}
        return made

    def _name(self, name):
        return f"{name}-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="module")
def topics(node):
    return Topics(node)


@pytest.fixture(scope="module", autouse=True)
def _little_planning(spark):
    """For a thousand records most of the time is Spark's own."""
    given = {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    before = {key: spark.conf.get(key) for key in given}
    for key, value in given.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.set(key, value)


@pytest.fixture(scope="module")
def batches(spark, topics):
    """The rows of each job over the whole topic, by its name; one read gives the columns of all."""
    events = run_job.read_batch(spark, ALL_COLUMNS, topics.activity, topics.bootstrap).cache()
    found = {name: job.function(events, **SETTINGS.get(name, {})).collect() for name, job in JOBS.items()}
    events.unpersist()
    return found


def at(ms):
    return datetime.fromtimestamp(ms / 1000)  # local, as `collect` gives it


def span(ms, length):
    return at(ms - ms % length), at(ms - ms % length + length)


def plain(rows):
    """Rows as comparable tuples by (window and) key."""
    return sorted(tuple(tuple(one) if isinstance(one, tuple) else one for one in row) for row in rows)


def by(length, name):
    groups = defaultdict(list)
    for one in ACTIVITY:
        groups[span(one.timestamp_ms, length), getattr(one, name)].append(one)
    return groups


def test_feeds_have_each_users_last_doings(batches):
    wanted = defaultdict(list)
    for one in ACTIVITY:
        wanted[one.user].append((at(one.timestamp_ms), one.action, one.page))
    found = {row.user: [tuple(one) for one in row.recent] for row in batches["feed"]}
    assert found == {user: sorted(doings, reverse=True)[:3] for user, doings in wanted.items()}


def test_pages_are_counted_by_what_was_done(batches):
    wanted = []
    for (window, page), group in by(HOUR, "page").items():
        views, clicks = (sum(one.action == action for one in group) for action in ("view", "click"))
        if views + clicks:
            wanted.append((window, page, views, clicks, clicks / (views + clicks)))
    assert plain(batches["relevance"]) == sorted(wanted)


def test_addresses_above_a_limit_are_banned(batches):
    wanted = [
        (window, address, len(group), sum(one.status in (401, 403) for one in group))
        for (window, address), group in by(MINUTE, "address").items()
    ]
    assert plain(batches["rates"]) == sorted(wanted)
    banned = [(*row, "failures" if row[3] >= 3 else "requests") for row in wanted if row[3] >= 3 or row[2] >= 12]
    assert plain(batches["bans"]) == sorted(banned) != []


def test_services_that_fail_or_are_slow_raise_alerts(batches):
    wanted = []
    for (window, service), group in by(MINUTE, "service").items():
        errors, times = sum(one.status >= 500 for one in group), [one.ms for one in group]
        wanted.append((window, service, len(group), errors, sum(times) / len(group), max(times)))
    assert plain(batches["services"]) == sorted(wanted)
    alerts = [
        (*row, "errors" if row[3] >= row[2] * 0.1 else "slow")
        for row in wanted
        if row[3] >= row[2] * 0.1 or row[4] >= 1000
    ]
    assert plain(batches["alerts"]) == sorted(alerts) != []


def test_reports_and_distinct_visitors(batches):
    found = {(tuple(row.window), row.action): row for row in batches["reports"]}
    groups = by(HOUR, "action")
    assert set(found) == set(groups)
    for key, group in groups.items():
        times = [at(one.timestamp_ms) for one in group]
        row = found[key]
        assert (row.requests, row.sent_bytes) == (len(group), sum(one.sent_bytes for one in group))
        assert (row["first"], row["last"]) == (min(times), max(times))
        assert near(row.users, {one.user for one in group})
    groups = by(DAY, "service")
    assert {(tuple(row.window), row.service) for row in batches["visitors"]} == set(groups)
    assert all(
        near(row.visitors, {one.user for one in groups[tuple(row.window), row.service]}) for row in batches["visitors"]
    )


def near(count, distinct):
    """Within three times the deviation of 5 percent that Spark's sketch has."""
    return abs(count - len(distinct)) <= max(1, 0.15 * len(distinct))


def test_the_first_pages_of_each_window_are_ranked(batches):
    counts = defaultdict(Counter)
    for one in ACTIVITY:
        counts[span(one.timestamp_ms, HOUR)][one.page] += 1
    wanted = [
        (window, rank, page, count)
        for window, pages in counts.items()
        for rank, (page, count) in enumerate(sorted(pages.items(), key=lambda one: (-one[1], one[0]))[:2], 1)
    ]
    assert plain(batches["top"]) == sorted(wanted)


def test_sessions_end_with_a_pause(batches):
    visits = defaultdict(list)
    for one in sorted(ACTIVITY):
        mine = visits[one.user]
        if mine and one.timestamp_ms < mine[-1][-1].timestamp_ms + PAUSE:
            mine[-1].append(one)
        else:
            mine.append([one])
    wanted = {
        (at(visit[0].timestamp_ms), at(visit[-1].timestamp_ms + PAUSE), user): visit
        for user, found in visits.items()
        for visit in found
    }
    found = {(*row.window, row.user): row for row in batches["sessions"]}
    assert set(found) == set(wanted)
    assert len(found) > len(visits)
    for key, visit in wanted.items():
        row = found[key]
        assert (row.requests, row.entry, row.exit) == (len(visit), visit[0].page, visit[-1].page)
        assert near(row.pages, {one.page for one in visit})


def test_counts_made_in_the_workers_give_the_same(spark, topics, batches):
    counted = in_worker.Counted(spark, topics.activity, topics.bootstrap)
    found = {name: job(counted, **SETTINGS.get(name, {})) for name, job in in_worker.JOBS.items()}
    assert {name: frame.columns for name, frame in found.items()} == {
        name: batches[name][0].__fields__ for name in in_worker.JOBS
    }
    rows = defaultdict(list)
    for name, row in side_by_side(found).collect():
        rows[name].append(row)
    for name in in_worker.JOBS:
        assert sorted(rows[name]) == as_json(spark, batches[name]), name


def side_by_side(results):
    """job | row, as JSON: in one query, for starting one costs more than it does."""
    found = [
        frame.select(F.lit(name).alias("job"), F.to_json(F.struct("*")).alias("row")) for name, frame in results.items()
    ]
    return reduce(DataFrame.union, found)


def closed(rows):
    """Without the windows of LAST, which nothing closes."""
    return [row for row in rows if row.window.start < at(LAST.timestamp_ms - DAY)]


def as_json(spark, rows):
    return sorted(row[0] for row in spark.createDataFrame(rows).select(F.to_json(F.struct("*"))).collect())


def records_of(spark, topics, topic):
    """(key, value) in their order."""
    rows = scan(spark, topic, bootstrap_servers=topics.bootstrap, columns="offset,key,value").collect()
    return [(bytes(row.key).decode(), bytes(row.value).decode()) for row in sorted(rows)]


def test_streams_give_the_rows_of_the_batches_and_write_them_into_a_topic(spark, topics, batches, tmp_path):
    events = topics.stream(spark)
    names = [name for name, job in JOBS.items() if job.mode == "append" and name not in ("rates", "services")]
    found = side_by_side({name: JOBS[name].function(events, **SETTINGS.get(name, {})) for name in names})
    target = topics.make("results")
    run(found, JOBS["top"]._replace(key="job"), topics, target, tmp_path)
    written = defaultdict(list)
    for key, value in records_of(spark, topics, target):
        assert json.loads(value)["job"] == key
        written[key].append(json.loads(value)["row"])
    for name in names:
        assert sorted(written[name]) == as_json(spark, closed(batches[name])), name


def test_the_latest_record_of_a_user_is_the_feed(spark, topics, batches, tmp_path):
    job = JOBS["feed"]
    feeds = job.function(topics.stream(spark, job, maxOffsetsPerTrigger="1000"), **SETTINGS["feed"])
    target = topics.make("feeds")
    run(feeds, job, topics, target, tmp_path)
    records = records_of(spark, topics, target)
    latest = dict(records)
    assert len(records) > len(latest)  # of several micro-batches
    assert sorted(latest.values()) == as_json(spark, batches["feed"])


def run(result, job, topics, target, directory):
    query = run_job.write_stream(result, job, target, topics.bootstrap, str(directory), until_now=True)
    assert query.awaitTermination(DEADLINE_S)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_needs_no_columns_but_those_it_names(spark, name):
    fields = spark.createDataFrame([], f"timestamp timestamp, {SCHEMA}").select(*JOBS[name].columns.split(","))
    assert JOBS[name].key in JOBS[name].function(fields).columns


def test_the_program_shows_a_batch(spark, topics, capsys):
    words = [
        "top",
        "--topic",
        topics.activity,
        "--bootstrap-server",
        topics.bootstrap,
        "--set",
        "pages=1",
        "--show",
        "1",
    ]
    run_job.run_batch(spark, run_job.arguments(words))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "2023" in line]
    window, rank, page, requests = line.strip("|").split("|")
    hour = [one.page for one in ACTIVITY if one.timestamp_ms < START_MS + HOUR]
    assert (window.strip(), rank.strip()) == ("{2023-11-14 23:00:00, 2023-11-15 00:00:00}", "1")
    assert (int(requests), page.strip()) == max((hour.count(one), one) for one in hour)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["top", "--stream", "--to", "x"], "needs --checkpoint"),
        (["top", "--until-now"], "need --stream"),
        (["top", "--set", "failures=3"], "top takes NAME=VALUE of window, pages"),
        (["top", "--set", "pages=many"], "pages must be of type int"),
    ],
)
def test_wrong_arguments_are_told(words, error, capsys):
    with pytest.raises(SystemExit):
        run_job.arguments(words)
    assert error in capsys.readouterr().err


def test_lines_of_an_access_log_are_activity():
    lines = [
        '192.0.2.1 - - [14/Nov/2023:23:13:20 +0100] "GET /shop/lamp?id=1 HTTP/1.1" 200 5120 "-" "curl/8" 0.031\n',
        r'192.0.2.1 - ada [14/Nov/2023:22:13:21 +0000] "GET /a HTTP/1.1" 304 - "https://x/\"q\"" "curl \"8\""',
        '::1 - - [14/Nov/2023:22:13:22 +0000] "POST / HTTP/1.1" 500 17',
        '::1 - - [99/Nov/2023:22:13:22 +0000] "POST / HTTP/1.1" 500 17',
        "[error] upstream timed out\n",
        "",
    ]
    assert list(from_access_log(lines)) == [
        Activity(1_700_000_000_000, "192.0.2.1", "192.0.2.1", "view", "/shop/lamp", "shop", 200, 5120, 31),
        Activity(1_700_000_001_000, "ada", "192.0.2.1", "click", "/a", "a", 304, 0, None),
        Activity(1_700_000_002_000, "::1", "::1", "post", "/", "", 500, 17, None),
        None,
        None,
        None,
    ]
