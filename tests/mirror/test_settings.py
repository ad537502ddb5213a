"""Settings by the names of Kafka 0.7, of MirrorMaker 1 and ours; bad ones are refused with key, value and reason."""

import pytest

from headrace.errors import ConfigError
from headrace.mirror.settings import DEFAULTS, make_settings, read_settings

LEAST = {"mirror.source.bootstrap.servers": "a:1|b:2,c:3", "mirror.target.bootstrap.servers": "d:4"}


def test_defaults():
    found = make_settings(LEAST)
    assert found.sources == ("a:1", "b:2,c:3")
    assert found.workers == 1
    assert found.is_read_committed
    assert not found.skips_gaps
    assert found.is_wanted("clicks")
    assert not found.is_wanted("__consumer_offsets")


@pytest.mark.parametrize(
    ("key", "value", "wanted", "left"),
    [
        ("mirror.topics.whitelist", "a, b.*", ["a", "bc"], ["ab", "c"]),
        ("whitelist", "a|b", ["a", "b"], ["ab"]),
        ("mirror.topics.blacklist", "a.*", ["b"], ["a", "ab"]),
        ("blacklist", "a", ["ab"], ["a"]),
    ],
)
def test_topics_are_chosen_by_their_whole_names(key, value, wanted, left):
    found = make_settings({**LEAST, key: value})
    assert all(map(found.is_wanted, wanted))
    assert not any(map(found.is_wanted, left))


def test_the_files_of_mirror_maker_are_read(tmp_path):
    for name, text in (
        ("c1", "bootstrap.servers=a:1\ngroup.id=g\n"),
        ("c2", "bootstrap.servers=b:2\n"),
        ("p", "bootstrap.servers=c:3\n"),
    ):
        (tmp_path / name).write_text(text)
    path = tmp_path / "mirror.properties"
    path.write_text(
        f"consumer.config={tmp_path}/c1,{tmp_path}/c2\nproducer.config={tmp_path}/p\nnum.streams=3\nmirror.name=from file\n"
    )
    found = read_settings(path, {"mirror.name": "given"})
    assert (found.sources, found.target, found.workers, found.name) == (("a:1", "b:2"), "c:3", 3, "given")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"mirror.topic.whitelist": "a"}, "unknown key; the nearest one is mirror.topics.whitelist"),
        ({"mirror.on.gap": "ignore"}, "'ignore' for mirror.on.gap: must be one of stop, skip"),
        ({"mirror.partitioner": "hash"}, "'hash' for mirror.partitioner: must be one of auto, keep, key"),
        ({"mirror.consumer.numthreads": "0"}, "must be from 1 to 64"),
        ({"mirror.consumer.numthreads": "two"}, "must be a whole number"),
        ({"whitelist": "("}, "is not a regular expression"),
        ({"mirror.name": "a b"}, "must be 1 to 100 letters"),
        ({"mirror.source.bootstrap.servers": ""}, "must name 1 to 64 sources"),
        ({"mirror.target.bootstrap.servers": ""}, "mirror.target.bootstrap.servers: is required"),
        ({"consumer.config": "/nowhere"}, "No such file"),
    ],
)
def test_bad_settings_are_refused(given, text):
    with pytest.raises(ConfigError) as refused:
        make_settings({**LEAST, **given})
    assert text in str(refused.value)


def test_a_file_without_servers_is_refused(tmp_path):
    path = tmp_path / "c"
    path.write_text("zookeeper.connect=z:2181\n")
    with pytest.raises(ConfigError, match=r"no bootstrap\.servers"):
        make_settings({**LEAST, "consumer.config": str(path)})
    path.write_text("bootstrap.servers=z:2181\nacks.timeout=4\n")
    with pytest.raises(ConfigError, match="unknown key"):
        make_settings({**LEAST, "producer.config": str(path)})


def test_every_default_is_valid():
    assert make_settings({**DEFAULTS, **LEAST}) == make_settings(LEAST)
