"""A module of Python with some of its names replaced, for the module under test alone.

`monkeypatch.setattr(time, "sleep", ...)` reaches every thread and every library of the process; this does not:

    monkeypatch.setattr(registration, "time", altered(time, sleep=lambda _seconds: None))

`tests/test_tidy.py` refuses the former.
"""

from types import ModuleType


def altered(module, **names):
    """What stands for `module`: its names, but for those given, which it has to have.

    raises   AttributeError, where a name is none of the module's
    """
    stand_in = ModuleType(module.__name__, f"{module.__name__} with {', '.join(names)} replaced")
    for name in names:
        getattr(module, name)
    stand_in.__dict__.update({**vars(module), **names})
    return stand_in
