"""Awkward and NumPy, imported on first use: that takes longer than everything else, and most commands need neither."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import awkward
    import numpy
    from awkward.contents import Content
else:
    Content = Any  # for annotations; ak.contents.Content is the class

    class _Package:
        def __init__(self, name: str) -> None:
            self._name = name

        def __reduce__(self) -> Any:
            return importlib.import_module, (self._name,)

        def __getattr__(self, attribute: str) -> Any:
            value = getattr(importlib.import_module(self._name), attribute)
            setattr(self, attribute, value)  # found without a call from now on
            return value

    awkward = _Package("awkward")
    numpy = _Package("numpy")

__all__ = ["Content", "awkward", "numpy"]
