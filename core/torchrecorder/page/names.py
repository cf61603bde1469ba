"""The names that a class may be documented by."""

from __future__ import annotations


def names_of_class(cls: str) -> tuple[str, ...]:
    """The dotted name of a class, then those it may be known by to users, the likeliest first.

    Python calls a class by the module that defines it, documentation by the package that offers it:
    `torch.nn.modules.linear.Linear` is `torch.nn.Linear` there. Whether a package offers it is not known here, so a
    name says only where to look.
    """
    *package, name = cls.split(".")
    return tuple(".".join((*package[:depth], name)) for depth in range(len(package), 0, -1))
