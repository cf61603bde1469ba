"""With which arguments a model is built that is one of many."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from torchrecorder.errors import ForwardError, TargetBuildFailed
from torchrecorder.recording.examples import Way, ways
from torchrecorder.recording.target import models
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.job import record

WITHOUT = "built without arguments, since it cannot be built with those of its pattern"
EXAMPLE = "built as in an example of its docstring: "


class Attention(nn.Module):
    """Weighs channels.

    >>> from nets import Attention, other
    >>> other(Attention(unknown))
    >>> module = nets.Attention(channels=16,
    ...                         rate=(2, 4))
    >>> module(torch.rand(1, 16))
    """

    def __init__(self, channels: int, rate: tuple[int, int]) -> None:
        super().__init__()
        self.size = channels * rate[0] * rate[1]


class Narrow(nn.Module):
    def __init__(self, width: int = 3) -> None:
        """Make a net.

        >>> Narrow(1)
        """
        super().__init__()
        if width % 2 == 0:
            raise ValueError("odd widths only")
        self.size = width
        self.weight = torch.rand(1).item()


class Gate(nn.Module):
    """A gate.

    >>> Gate(width=4)
    """

    def __init__(self, width: int, kind: str = "plain") -> None:
        super().__init__()
        if kind != "plain":
            raise ValueError(kind)
        self.fc = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.fc(x)) * x


class Silent(nn.Module):
    def __init__(self, secret: int) -> None:
        super().__init__()


class Strict(Gate):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError(f"not with {'x'.join(map(str, x.shape))}")


class Takes(nn.Module):
    def __init__(self, **sizes: int) -> None:
        super().__init__()
        self.size = sum(sizes.values())


class Hands(Narrow):
    def __init__(self, **others: int) -> None:
        super().__init__(**others)


def built(builder: type[nn.Module], brackets: str = "", *, is_common: bool = False) -> tuple[nn.Module, Way | None]:
    """The first model that `nets.Net` gives, which the builder stands for."""
    target = f"{__name__}:{builder.__name__}{brackets}"
    return next(models(target, 0, ["*"], partial(ways, is_common=is_common)))


@pytest.mark.parametrize(
    ("builder", "brackets", "is_common", "size", "note"),
    [
        (Narrow, "", False, 3, ""),
        (Narrow, "(width=5)", False, 5, ""),
        (Attention, "", False, 128, f"{EXAMPLE}Attention(channels=16, rate=(2, 4))"),
        (Narrow, "(width=5, depth=9)", True, 5, ""),
        (Narrow, "(width=2, depth=9)", True, 3, WITHOUT),
        (Attention, "(width=2)", True, 128, f"{EXAMPLE}Attention(channels=16, rate=(2, 4))"),
        (Takes, "(a=1, b=2)", True, 0, ""),
        (Hands, "(a=1, width=5)", True, 5, ""),
    ],
)
def test_the_first_arguments_that_are_not_refused(
    builder: type[nn.Module], brackets: str, is_common: bool, size: int, note: str
) -> None:
    module, way = built(builder, brackets, is_common=is_common)
    assert way is not None
    assert (vars(module)["size"], way.note) == (size, note)


@pytest.mark.parametrize(
    ("builder", "brackets", "is_common", "said"),
    [
        (Attention, "(channels=2)", False, "missing 1 required positional argument: 'rate'"),
        (Narrow, "(width=3, depth=9)", False, "unexpected keyword argument 'depth'"),
        (Silent, "", False, "missing 1 required positional argument: 'secret'"),
        (Silent, "(depth=9)", True, "missing 1 required positional argument: 'secret'"),
    ],
)
def test_what_is_written_for_one_class_is_taken_as_it_is(
    builder: type[nn.Module], brackets: str, is_common: bool, said: str
) -> None:
    with pytest.raises(TargetBuildFailed, match=said):
        built(builder, brackets, is_common=is_common)


def test_random_weights_do_not_depend_on_what_failed_before() -> None:
    weights = [vars(it)["weight"] for it, _ in (built(Narrow, "(width=2)", is_common=True), built(Narrow))]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("target", "shape", "is_common", "width", "notes"),
    [
        ("Gate", "", False, 4, (f"{EXAMPLE}Gate(width=4)",)),
        ("Gate(width=5, depth=2)", "1,9", True, 5, ()),
        ("Gate(width=5, kind='odd')", "2,4", True, 4, (f"{EXAMPLE}Gate(width=4)",)),
    ],
)
def test_a_shape_for_several_classes_gives_way_too(
    target: str, shape: str, is_common: bool, width: int, notes: tuple[str, ...]
) -> None:
    graph = record(RecordingRequest(f"{__name__}:{target}", shape, is_common=is_common))
    (value,) = (value for value in graph.values if value.kind == "input")
    assert value.meta is not None
    assert (value.meta.shape[-1], graph.info.notes) == (width, notes)


def test_what_does_not_fit_is_the_error() -> None:
    with pytest.raises(ForwardError):
        record(RecordingRequest(f"{__name__}:Gate(width=5)", "1,9"))
    with pytest.raises(ForwardError, match="1x9"):
        record(RecordingRequest(f"{__name__}:Strict(width=5)", "1,9", is_common=True))
