"""The form that the tests' own process runs: pure Python, chosen by importing this before anything else of headrace.

Many tests replace names of modules, or follow a function bytecode by bytecode, and compiled calls have neither. What tests start as
programs keeps the environment's form: the compiled core, where it was built. TESTS_COMPILED=1 has this process take it too.
"""

import os

PURE = "HEADRACE_PURE"


def import_pure() -> None:
    """Import headrace as pure Python, and leave the environment as it was."""
    asked = os.environ.get(PURE)
    os.environ[PURE] = "1"
    try:
        import headrace  # noqa: F401 - the form is chosen here, for the life of the process
    finally:
        del os.environ[PURE]
        if asked is not None:
            os.environ[PURE] = asked


if not os.environ.get("TESTS_COMPILED"):
    import_pure()
