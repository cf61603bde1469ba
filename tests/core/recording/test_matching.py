"""Which models a pattern stands for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from torchrecorder.errors import TargetImportFailed, TargetNotFound, TargetRefused
from torchrecorder.recording.matching import matching_models
from torchrecorder.trace.allowed import EVERYTHING

FILES = {
    "__init__.py": "from matching_zoo.sub.nets import Net\nfrom torch.nn import Linear\n",
    "sub/__init__.py": "",
    "sub/broken.py": "raise ValueError('no')\n",
    "sub/_private.py": "raise AssertionError('not imported')\n",
    "sub/nets.py": """
from abc import ABC, abstractmethod
from torch import nn
class Base(nn.Module): ...
class Net(nn.Linear):
    def __init__(self, n=4): super().__init__(3, n)
class Wide(nn.Linear): ...
class Abstract(Net, ABC):
    @abstractmethod
    def width(self): ...
class _Hidden(Net): ...
class Other: ...
def small(n: int = 2) -> Net: return Net(n)
def large(n: int) -> "Net": return Net(n)
def untold(): return Net()
def unknown() -> "Nothing": ...
ready = Net(9)
""",
}
ALL = {
    "matching_zoo.Net": "",
    "matching_zoo.sub.broken": "cannot import matching_zoo.sub.broken: ValueError: no (",
    "matching_zoo.sub.nets.Abstract": "it is abstract",
    "matching_zoo.sub.nets.Wide": "it needs in_features, out_features",
    "matching_zoo.sub.nets.large": "it needs n",
    "matching_zoo.sub.nets.ready": "",
    "matching_zoo.sub.nets.small": "",
}


@pytest.fixture(autouse=True)
def _zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / "matching_zoo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "matching_zoo" / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("matching_zoo")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("matching_zoo.*", [*ALL]),
        ("matching_zoo.sub.nets.*l*", [name for name in ALL if name.endswith(("small", "large"))]),
        ("matching_zoo.sub.nets.W*", ["matching_zoo.sub.nets.Wide"]),
        ("matching_zoo.*.small", ["matching_zoo.sub.nets.small", "matching_zoo.sub.broken"]),
    ],
)
def test_models_of_the_package_by_their_shortest_names(pattern: str, names: list[str]) -> None:
    found = matching_models(pattern, [EVERYTHING])
    assert {*found} == {*names}
    assert all(obstacle.startswith(ALL[name]) and bool(obstacle) == bool(ALL[name]) for name, obstacle in found.items())


@pytest.mark.parametrize(
    ("pattern", "error", "said"),
    [
        ("matching_zoo.sub.nets.Nett*", TargetNotFound, "did you mean matching_zoo.sub.nets"),
        ("matching_zoo.subb.*", TargetNotFound, "did you mean matching_zoo.sub?"),
        ("matching_zo.*", TargetNotFound, "did you mean matching_zoo?"),
        ("matching_zoo.sub.broken.*", TargetImportFailed, "ValueError: no"),
        ("this.*", TargetRefused, "this"),
    ],
)
def test_what_matches_nothing_is_an_error(pattern: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        matching_models(pattern, [])
    assert said in str(caught.value)
