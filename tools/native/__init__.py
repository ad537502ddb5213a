"""How the two native parts are built: the compiled core and the record kernel (docs/decisions/004).

Which form runs is chosen elsewhere, in `headrace/compiled_core.py`.
"""
