"""What a forward calls the parts of its result."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.core.recording.nets import record
from torchrecorder.graph import from_json, to_json


class Returning(nn.Module):
    def __init__(self, kind: int = 0) -> None:
        super().__init__()
        self.kind = kind
        self.head, self.aux, self.dropout = nn.Linear(4, 2), nn.Linear(4, 3), nn.Dropout()


class Variables(Returning):
    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.head(x), self.aux(x)
        return mu, logvar, x + 1


class Layers(Returning):
    def forward(self, x: Tensor) -> Any:
        y = x.exp()
        return self.head(x), self.aux(x).view(-1), self.dropout(y), y if self.training else x


class Nested(Returning):
    def forward(self, x: Tensor) -> Any:
        mu, known = self.head(x), {"boxes": self.aux(x)}
        return [(mu, mu + 1), known["boxes"], [self.head(x * i) for i in range(2)]]


class Several(Returning):
    def forward(self, x: Tensor) -> Any:
        a, b = self.head(x), self.aux(x)
        if self.kind == 1:
            return a, b
        c = a + 1
        return c, b


class Within(Returning):
    def forward(self, x: Tensor) -> Any:
        with torch.no_grad():
            a = self.head(x)
            return a, self.aux(x)


class Uncertain(Returning):
    def forward(self, x: Tensor) -> Any:
        a = self.head(x)
        with torch.no_grad():
            if self.kind == 1:
                return x, a
            return a, self.aux(x)


class Another(Returning):
    def forward(self, x: Tensor) -> Any:
        a = self.head(x)
        try:
            return a, self.aux(x)
        finally:
            self.kind += 1


class Whole(Returning):
    def forward(self, x: Tensor) -> Any:
        pair = [self.head(x), self.aux(x)]
        pair.reverse()
        return pair


class Starred(Returning):
    def forward(self, x: Tensor) -> Any:
        first, rest = self.head(x), (self.aux(x), x.exp())
        return first, *rest


class Joined(Returning):
    def forward(self, x: Tensor) -> Any:
        steps, self.kept = [self.head(x), self.head(-x)], self.aux(x)
        return torch.stack(steps, dim=1), torch.cat([x, x]), self.kept, -self.kept, x.T


class Called(Returning):
    def _length(self, x: Tensor) -> Tensor:
        return x.sum()

    def forward(self, x: Tensor) -> Any:
        y = loss = self.head(x)
        return self._length(x), F.mse_loss(y, -y), loss / len(x), y.mean(), y / y.sum()


def swapped(forward: Any) -> Any:
    def forward_(self: Any, x: Tensor) -> Any:
        return forward(self, x)[::-1]

    return forward_


class Wrapped(Returning):
    @swapped
    def forward(self, x: Tensor) -> Any:
        a, b = self.head(x), self.aux(x)
        return a, b


@pytest.mark.parametrize(
    ("net", "names"),
    [
        (Variables(), {"0": "mu", "1": "logvar"}),
        (Layers(), {"0": "head", "1": "aux", "2": "dropout"}),
        (Nested(), {"0.0": "mu", "1": "boxes"}),
        (Several(1), {"0": "a", "1": "b"}),
        (Several(2), {"0": "c", "1": "b"}),
        (Within(), {"0": "a", "1": "aux"}),
        (Uncertain(2), {}),
        (Another(), {"0": "a", "1": "aux"}),
        (Whole(), {"": "pair"}),
        (Starred(), {}),
        (Joined(), {"0": "steps", "2": "kept"}),
        (Called(), {"0": "length", "1": "mse_loss", "2": "loss"}),
        (Wrapped(), {}),
    ],
    ids=lambda it: type(it).__name__ if isinstance(it, nn.Module) else "",
)
def test_names_stand_in_the_return_that_ran(net: nn.Module, names: dict[str, str]) -> None:
    graph = record(net, torch.ones(2, 4))
    assert graph.returned.get("", {}) == names
    assert from_json(to_json(graph)) == graph


class Outer(nn.Module):
    """Calls a layer that returns one thing, and then another one."""

    def __init__(self, *kinds: int) -> None:
        super().__init__()
        self.kinds, self.inner = kinds, Several()

    def forward(self, x: Tensor) -> Any:
        for kind in self.kinds:
            self.inner.kind = kind
            a, b = self.inner(x)
        return a.sum() + b.sum()


def test_a_name_holds_for_all_calls_of_a_layer() -> None:
    assert record(Outer(1, 1), torch.ones(2, 4)).returned == {"inner": {"0": "a", "1": "b"}}
    assert record(Outer(1, 2), torch.ones(2, 4)).returned == {"inner": {"1": "b"}}


class Nameless(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x + 1, x * 2


class Calling(nn.Module):
    """Calls layers whose forward has no names for what it returns."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d, self.e = (Nameless() for _ in range(5))

    def forward(self, x: Tensor) -> Any:
        shifted, scaled = self.a(
            x,
        )
        kept, _ = self.b(shifted)
        pair = self.c(kept)
        joined = torch.cat(self.d(scaled))
        again, other = self.e(x) if self.training else self.e(-x)
        return joined, pair[0] + again, other


def test_what_has_no_name_there_has_that_of_the_variable_that_gets_it() -> None:
    returned = record(Calling(), torch.ones(2, 4)).returned
    known = {"a": {"0": "shifted", "1": "scaled"}, "b": {"0": "kept"}, "c": {"": "pair"}}
    assert {path: names for path, names in returned.items() if path} == known


def test_a_hook_may_give_something_else() -> None:
    net = Variables()
    net.register_forward_hook(lambda module, args, out: (out[1], out[0]))
    assert record(net, torch.ones(2, 4)).returned == {}


class Holding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.seen = Variables(), list[weakref.ref[Tensor]]()

    def forward(self, x: Tensor) -> Any:
        y = x.exp()
        self.seen.append(weakref.ref(y))
        return y + 1, y + 2


class Asking(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Holding()

    def forward(self, x: Tensor) -> Any:
        a, b = self.inner(x)
        gc.collect()
        return a + b * sum(it() is not None for it in self.inner.seen)


def test_local_variables_of_a_forward_do_not_outlive_it() -> None:
    (scale,) = (op.attrs for op in record(Asking(), torch.ones(2, 4)).ops if op.name == "mul")
    assert scale == {"1": "0"}
