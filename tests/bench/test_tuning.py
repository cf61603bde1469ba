"""Names of tuned numbers, and values to try."""

from __future__ import annotations

import pytest

from bench.tuning import located, main


def test_a_number_of_any_room() -> None:
    assert located("TRACK", "8.5") == ("torchrecorder.layout.tuning.TRACK", 8.5)
    assert located("view.AUTO_NODES", "30") == ("torchrecorder.view.tuning.AUTO_NODES", 30)
    assert located("PAGE", "(400, 500.0)") == ("torchrecorder.layout.tuning.PAGE", (400, 500.0))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("TRAK", "8.5", "TRAK is no tuned number; did you mean TRACK"),
        ("view.TRACK", "8.5", "view.TRACK is no tuned number"),
        ("TRACK", "wide", "TRACK=wide: it is 7.0 now; write a value of that kind"),
        ("PAGE", "540", "write a value of that kind"),
    ],
)
def test_what_is_wrong_is_said(name: str, text: str, said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        located(name, text)


def test_nothing_to_try() -> None:
    with pytest.raises(SystemExit, match="name a number and a value"):
        main(["sheet=x.html"])
