"""The types of the settings: every key once, with the type that its value has."""

import ast

from headrace.settings import BROKER_SETTINGS, TOPIC_ONLY_SETTINGS, TOPIC_SETTINGS, Settings, TopicValues
from tools.setting_types import setting_types, value_type

TYPES = {"bool": bool, "str": str, "int": int, "float": float, "tuple[str, ...]": tuple}


def keys_by_type():
    """(annotation, keys) of each overload."""
    (values,) = [node for node in ast.parse(setting_types()).body if getattr(node, "name", "") == "SettingValues"]
    for method in values.body:
        if getattr(method, "name", "") == "__getitem__" and method.decorator_list:
            yield ast.unparse(method.returns), ast.literal_eval(method.args.args[1].annotation.slice)


def test_every_key_has_one_overload():
    keys = [key for _type, keys in keys_by_type() for key in (keys if isinstance(keys, tuple | list) else [keys])]
    assert sorted(keys) == sorted(Settings())
    assert len(set(keys)) == len(keys)


def test_the_default_of_a_setting_is_of_its_type():
    settings = Settings()
    for setting in (*BROKER_SETTINGS, *TOPIC_ONLY_SETTINGS):
        name, _, nothing = value_type(setting).partition(" | ")
        value = settings.value(setting.key)
        assert value is None if nothing else type(value) is TYPES[name], setting.key


def test_topic_values_have_every_topic_key():
    assert list(TopicValues.__annotations__) == list(TOPIC_SETTINGS)
