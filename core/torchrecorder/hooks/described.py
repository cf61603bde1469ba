"""How recorders and registrators show themselves."""

from __future__ import annotations


class Described:
    """`str` gives `module.Class`, `repr` the public attributes too."""

    def __str__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}"

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{self}({shown})"
