"""Let a package name what it exports without importing it (PEP 562).

A package repeats the names as imports under TYPE_CHECKING, which is where type checkers read
them; a test holds the two lists together.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_exports(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Make `__getattr__`, `__dir__` and `__all__` of a package out of {module: "Name other_name"}.

    The calling package assigns them where type checkers do not look, or every misspelt name would
    pass: `if TYPE_CHECKING: from m import X as X` and `else: __getattr__, __dir__, __all__ = ...`.
    """
    origin = {name: module for module, names in modules.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        if name not in origin:
            module = sys.modules[package]
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}", name=name, obj=module
            )
        value = getattr(import_module(origin[name]), name)
        vars(sys.modules[package])[name] = value  # found directly from now on
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *origin})

    return __getattr__, __dir__, sorted(origin)
