"""Paper and licence of a model, as docstrings say them."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrecorder.page.models import Described, described


def said(tmp_path: Path, docstring: str, what: str = "paper") -> Described:
    file = tmp_path / "nets.py"
    file.write_text(f'class Net:\n    """A net.\n\n{docstring}\n    """\n', encoding="utf-8")
    return described(what, ("make_net", "Net"), (tmp_path / "missing.py", tmp_path / "lib.so", file))


@pytest.mark.parametrize(
    ("docstring", "text", "url"),
    [
        ("    :paper: On nets", "On nets", ""),
        ("    Paper: `On nets <https://x.org/a>`_", "On nets", "https://x.org/a"),
        ("    **Reference**: [On nets](https://x.org/a), 2020", "On nets", "https://x.org/a"),
        ("    References: https://x.org/a.", "x.org/a", "https://x.org/a"),
        (
            "    Paper: On nets\n        and trees, https://x.org/a",
            "On nets and trees",
            "https://x.org/a",
        ),
        (
            "    From `a site <https://x.org>`_ and `On nets\n    <https://arxiv.org/abs/1.2>`__.",
            "On nets",
            "https://arxiv.org/abs/1.2",
        ),
        ("    See https://doi.org/10.1/2 for more.", "doi.org/10.1/2", "https://doi.org/10.1/2"),
        ("    See https://x.org for more.", "", ""),
        ("    Newspaper: none", "", ""),
    ],
)
def test_a_paper_is_that_of_a_field_or_the_first_link_to_one(
    tmp_path: Path, docstring: str, text: str, url: str
) -> None:
    assert said(tmp_path, docstring) == (text, url)


@pytest.mark.parametrize("field", [":license: MIT", "Licence: MIT", "- **License:** MIT"])
def test_a_licence_is_that_of_a_field(tmp_path: Path, field: str) -> None:
    assert said(tmp_path, f"    {field}", "licence") == ("MIT", "")


def test_the_function_that_makes_a_model_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "nets.py"
    file.write_text(
        'class Net:\n    """:paper: A\n    :licence: MIT"""\ndef net():\n    """:paper: B"""\n', encoding="utf-8"
    )
    assert described("paper", ("net", "Net"), (file,)).text == "B"
    assert described("licence", ("net", "Net"), (file,)).text == "MIT"


def test_a_file_that_changed_is_read_again_and_one_that_is_no_python_says_nothing(tmp_path: Path) -> None:
    assert said(tmp_path, "    :paper: A").text == "A"
    file = tmp_path / "nets.py"
    file.write_bytes(b'class Net:\n    """\xff"""')
    assert described("paper", ("Net",), (file,)) == ("", "")
