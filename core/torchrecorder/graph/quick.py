"""Making the frozen objects of a Graph in a fifth of the time: a recording makes several for each operation.

A frozen dataclass sets each of its fields through `object.__setattr__`. One that is not frozen, with the same slots,
stores them directly, and an object may change its class to one with the same slots.

They all stay, so the garbage collector looks among them in vain.
"""

from __future__ import annotations

import dataclasses
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

_YOUNG = 20_000
"""New objects at which the garbage collector looks for circles. A recording makes thousands, and they stay until its
end: at Python's 700, each look carries them further, until one goes through all that the process holds."""
_before: list[tuple[int, int, int]] = []
"""For each block that makes many objects, in any thread, what the collector was set to when the first began."""
_lock = threading.Lock()


@contextmanager
def looking_seldom() -> Iterator[None]:
    """A block that makes many objects, in which the garbage collector looks at them less often."""
    gc.collect(0)  # what is garbage now would wait for the next look, with the tensors in it
    with _lock:
        _before.append(_before[0] if _before else gc.get_threshold())
        first, *others = _before[0]
        gc.set_threshold(max(first, _YOUNG) if first else 0, *others)  # 0: its user has switched it off
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before:
                gc.set_threshold(*before)


def quick(cls: Callable[_P, _T]) -> Callable[_P, _T]:
    """A constructor for a frozen dataclass with slots, in a fifth of its time."""
    frozen: Any = cls
    fields = dataclasses.fields(frozen)
    thawed = dataclasses.make_dataclass(frozen.__name__, [(item.name, item.type) for item in fields], slots=True)
    names: dict[str, Any] = {"new": object.__new__, "thawed": thawed, "frozen": frozen}
    arguments, lines = [], ["made = new(thawed)"]
    for item in fields:  # one function without a call inside, as dataclasses writes them
        name, value = item.name, item.name
        if item.default_factory is not dataclasses.MISSING:
            names[f"_{name}"], value = item.default_factory, f"_{name}() if {name} is None else {name}"
            name = f"{name}=None"
        elif item.default is not dataclasses.MISSING:
            names[f"_{name}"], name = item.default, f"{name}=_{name}"
        arguments.append(name)
        lines.append(f"made.{item.name} = {value}")
    body = "\n ".join((*lines, "made.__class__ = frozen", "return made"))
    exec(f"def make({', '.join(arguments)}):\n {body}", names)
    make: Callable[_P, _T] = names["make"]
    return make
