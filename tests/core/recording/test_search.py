"""The search for inputs that a forward accepts: in which order guesses are tried, and when it ends."""

from __future__ import annotations

from typing import Any, ClassVar, Dict  # noqa: UP035

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.core.recording.libraries.test_diffusers import FromDiffusers
from tests.core.recording.test_guesses import guess
from tests.core.recording.test_repairs import Counts, Weighs
from torchrecorder.errors import ForwardError, InputError
from torchrecorder.recording.guess.search import Search, record_guessed
from torchrecorder.recording.run import capture


class Times(FromDiffusers):
    ran: ClassVar[list[Any]] = []

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self.time_fc = nn.Linear(1, 4)

    def forward(self, sample: Tensor, timestep: Tensor, noise: Tensor | None = None) -> Any:
        self.ran.append(noise)
        return sample.mean() + self.time_fc(timestep[:, None])


Times.__module__ = "diffusers.models.some"


def test_numbers_are_tried_before_arguments_are_added() -> None:
    assert guess(Times(in_channels=4, sample_size=8)).guessed.startswith("sample=1,4,8,8; timestep=1, from the config")
    assert Times.ran.count(None) == len(Times.ran)


class Parts(Counts):
    """Takes inputs of many widths, each of which a layer of its own tells."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(9, 1)
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(2, width)) for width in range(11, 18)])

    def forward(self, a: Tensor, b: Tensor, c: Tensor, d: Tensor, e: Tensor, f: Tensor, g: Tensor) -> Any:
        self.ran.append(a.shape)
        return [functional.linear(x, w) for x, w in zip((a, b, c, d, e, f, g), self.weights, strict=True)]


def test_repairs_go_on_as_long_as_they_help() -> None:
    assert guess(Parts()).guessed.startswith("a=1,11; b=1,12; c=1,13; d=1,14; e=1,15; f=1,16; g=1,17, from")
    assert len(Parts.ran) < 16


class Streams(Counts):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(9, 4)
        self.body_ = nn.ModuleList([nn.Linear(width, 4) for width in (9, 9, 9, 7)])

    def forward(self, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Any:
        self.ran.append([x.shape[-1] for x in (a, b, c, d)])
        return sum(layer(x * 2) for layer, x in zip(self.body_, (a, b, c, d), strict=True))


def test_the_input_of_the_layer_that_raised_is_changed_first() -> None:
    assert guess(Streams()).guessed.startswith("a=1,9; b=1,9; c=1,9; d=1,7, from")
    assert next(widths for widths in Streams.ran if len(set(widths)) > 1) == [9, 9, 9, 7]


def test_a_right_guess_costs_one_forward() -> None:
    class Once(Counts):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 2)

        def forward(self, x: Tensor) -> Any:
            self.ran.append(x.shape)
            return self.fc(x)

    assert guess(Once()).guessed == "1,3, from fc (Linear)"
    assert Once.ran == [(1, 3)]


def test_the_same_guess_is_not_tried_twice() -> None:
    guess(Weighs())
    assert len(set(Weighs.ran)) == len(Weighs.ran)


def test_a_guess_too_large_is_not_made() -> None:
    class Signal(FromDiffusers):
        def forward(self, sample: Tensor) -> Any:  # type: ignore[override]
            if sample.shape[1:] != (2, 65536):
                raise ValueError("a signal is wanted")
            return sample.mean() + self.text.weight

    Signal.__module__ = "diffusers.models.some"
    said = "sample=1,2,65536, from the config of Signal"
    assert guess(Signal(in_channels=2, sample_size=65536)).guessed == said


def test_a_row_of_words_stays_short() -> None:
    class Long(Counts):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(50, 4)

        def forward(self, input_ids: Tensor) -> Any:
            self.ran.append(input_ids.numel())
            raise RuntimeError("shape '[1048576, 16]' is invalid for input of size 16")

    with pytest.raises(InputError):
        guess(Long())
    assert max(Long.ran) <= 1 << 16


def test_much_work_in_vain_ends_the_search() -> None:
    class Long(Counts):
        def forward(self, x: Tensor) -> Any:
            self.ran.append(x.shape)
            for _ in range(3000):
                x = x + 1
            raise ValueError("expected 7 to be 8 at dimension 2")

    with pytest.raises(InputError):
        guess(Long())
    assert len(Long.ran) <= 8


def test_slow_guesses_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("torchrecorder.recording.guess.search.thread_time", lambda: now[0])

    class Slow(Counts):
        def forward(self, x: Tensor) -> Any:
            self.ran.append(x.shape)
            now[0] += 25
            raise ValueError("expected 7 to be 8 at dimension 2")

    with pytest.raises(InputError) as caught:
        guess(Slow())
    assert len(Slow.ran) == 3
    assert len(caught.value.tried) == 3


class Wide(Counts):
    """Wants a picture of a million numbers and more."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3)
        self.__dict__["default_cfg"] = {"input_size": (3, 600, 600)}

    def forward(self, x: Tensor) -> Any:
        self.ran.append(type(x).__name__)
        return self.conv(x)


class WideNumbers(Wide):
    """Needs the numbers, which fake tensors do not have."""

    def forward(self, x: Tensor) -> Any:
        scale = float(x.numpy().max())
        return super().forward(x) * scale


Wide.__module__ = WideNumbers.__module__ = "timm.models.some"


def test_a_large_input_is_first_recorded_on_fake_tensors() -> None:
    assert guess(Wide()).guessed == "1,3,600,600, from the default_cfg of Wide"
    assert Wide.ran == ["FakeTensor"]


def test_a_large_input_whose_numbers_are_needed_is_computed() -> None:
    assert guess(WideNumbers()).guessed.startswith("1,3,600,600, from the default_cfg of WideNumbers")
    assert WideNumbers.ran == ["Tensor"]


def test_a_missing_package_is_no_fault_of_the_inputs() -> None:
    class Lacks(Counts):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 2)

        def forward(self, x: Tensor) -> Any:
            self.ran.append(x.shape)
            raise ImportError("it wants pyg-lib")

    with pytest.raises(ForwardError, match="ImportError: it wants pyg-lib"):
        guess(Lacks())
    assert len(Lacks.ran) == 1


def test_a_model_without_a_forward_is_said_to_have_none() -> None:
    with pytest.raises(InputError, match="ModuleList has no forward") as caught:
        guess(nn.ModuleList([nn.Linear(3, 2)]))
    assert caught.value.advice == "name one of the modules that it holds"


class OnlyHolds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> None:
        """What another model calls is `fc`."""


def test_a_forward_of_words_alone_is_none() -> None:
    with pytest.raises(InputError, match="OnlyHolds has no forward"):
        guess(OnlyHolds())


class Batches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, batch, extra: Dict[str, Any]):  # type: ignore[no-untyped-def]  # noqa: UP006
        if "left" not in batch:
            raise ValueError("Pass exactly one of `left` and `features`.")
        return self.fc(batch["left"]) + self.fc(batch["right"])


def test_a_dictionary_holds_what_the_forward_asks_for() -> None:
    said = "batch={left: [1, 6], right: [1, 6]}; extra={}, a small graph"
    assert guess(Batches()).guessed.startswith(said)


class Pools(nn.Module):
    """As Set2Set: the state of its recurrent layer is as wide as the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 3)

    def forward(self, x: Tensor) -> Any:
        if x.dim() != 2:
            raise ValueError(f"it requires two-dimensional inputs (got '{x.dim()}')")
        state = x.new_zeros(1, 1, x.size(-1))
        return self.lstm(x.new_zeros(1, 1, 6), (state, state))[0].squeeze(0) @ x.t()


def test_a_recurrent_layer_says_how_wide_its_state_is() -> None:
    assert guess(Pools()).guessed.startswith("x=16,3, from lstm")


def test_a_guess_that_is_slow_to_compute_is_followed_by_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("torchrecorder.recording.guess.search.thread_time", lambda: now[0])

    class Heavy(Counts):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(6)))

        def forward(self, x: Tensor) -> Any:
            self.ran.append(type(x))
            for layer in self.layers:
                now[0] += 8
                x = layer(x)
            return x

    model = Heavy()
    graph = record_guessed(model, lambda given, run: capture(model, given.args, run=run), run="auto", seed=0)
    assert graph.info.executed == "fake"
    assert graph.calls[-1].module == "layers.5"
    assert graph.info.notes == (
        "the forward ran on fake tensors: the inputs were guessed, and with them it takes more than 30 s on real ones",
    )
    assert len(Heavy.ran) == 2
    assert not torch.nn.modules.module._global_forward_pre_hooks
    graph = record_guessed(model, lambda given, run: capture(model, given.args, run=run), run="real", seed=0)
    assert graph.info.executed == "real"


def test_a_slow_guess_whose_shapes_say_too_little_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("torchrecorder.recording.guess.search.thread_time", lambda: now[0])

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(6)))

        def forward(self, x: Tensor) -> Any:
            for layer in self.layers:
                now[0] += 8
                x = layer(x)
            return x[torch.nonzero(x[:, 0] > -100)[:, 0]]

    model = Detector()
    graph = record_guessed(model, lambda given, run: capture(model, given.args, run=run), run="auto", seed=0)
    assert graph.info.executed == "real"


class Segments(Counts):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.gate = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: Tensor, seg: Tensor) -> Any:
        self.ran.append(seg.shape)
        return self.conv(x) * self.gate(seg)


def test_channels_are_put_right_before_other_sizes_are_tried() -> None:
    assert guess(Segments()).guessed.startswith("x=1,1,224,224; seg=1,3,224,224, from conv (Conv2d), and from what")
    assert len(Segments.ran) <= 4


class Looks(Counts):
    """Gives something only if there is something in its dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, batch: Dict[str, Any]) -> Any:  # noqa: UP006
        self.ran.append(batch)
        return {name: self.fc(x) for name, x in (batch.items() if isinstance(batch, dict) else [("x", batch)])}


def test_a_guess_with_which_nothing_comes_out_is_refused() -> None:
    assert guess(Looks()).guessed == "1,6, from fc (Linear)"
    assert Looks.ran[0] == {}


def test_a_forward_that_never_gives_a_tensor_is_recorded_with_the_first_guess() -> None:
    class Prints(Counts):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(6, 4)

        def forward(self, x: Tensor) -> Any:
            self.ran.append(x.shape)
            return f"{self.fc(x).mean():.3f}"

    model = Prints()
    graph = record_guessed(
        model, lambda given, run: capture(model, given.args, guessed=given.guessed), run="auto", seed=0
    )
    assert (graph.outputs, graph.info.guessed) == ({}, "1,6, from fc (Linear)")
    assert len(Prints.ran) <= 4


def test_a_search_goes_on_where_it_ran_out_of_time() -> None:
    guess(Parts())
    in_one, model = [*Parts.ran], Parts()
    search = Search(model, lambda given, run: capture(model, given.args, given.kwargs), run="auto", seed=0)
    for patience_s in (-1.0, 0.0, 0.0):  # none is tried, then one each time at most
        with pytest.raises(InputError) as stopped:
            search.result(patience_s, 30)
        assert stopped.value.ran_out_of_time
    assert search.result(60, 30).inputs.keys() == set("abcdefg")
    assert Parts.ran == in_one
