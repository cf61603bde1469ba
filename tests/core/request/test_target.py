"""The grammar of targets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrecorder.request import Target, parse_target
from torchrecorder.request.targets import package_of


def of_hub(text: str, *args: str) -> Target:
    return Target("torchrecorder.hub.models.from_hub", None, args, called=True, short=text, said=2)


READ = {
    "pkg.Net": Target("pkg.Net", None),
    " pkg.mod:Net ": Target("pkg.mod.Net", "pkg.mod"),
    "pkg.mod:Outer.Inner": Target("pkg.mod.Outer.Inner", "pkg.mod"),
    "pkg.Net()": Target("pkg.Net", None, called=True),
    "pkg.Net(3, width=64)": Target("pkg.Net", None, (3,), {"width": 64}, called=True),
    "pkg.Net(sizes=(1, [2]), name='a, b')": Target(
        "pkg.Net", None, (), {"sizes": (1, [2]), "name": "a, b"}, called=True
    ),
    "pkg.Net(scale=-0.5)": Target("pkg.Net", None, (), {"scale": -0.5}, called=True),
    "torchvision:models.resnet18": Target("torchvision.models.resnet18", "torchvision"),
    "timm:models.resnet18": Target("timm.models.resnet18", "timm"),
    "timm:create_model('resnet18')": Target("timm.create_model", "timm", ("resnet18",), called=True),
    "timm:resnet50.a1_in1k": Target(
        "timm.create_model", None, ("resnet50.a1_in1k",), called=True, short="timm:resnet50.a1_in1k", said=1
    ),
    "torchvision:resnet18(num_classes=10)": Target(
        "torchvision.models.get_model",
        None,
        ("resnet18",),
        {"num_classes": 10},
        called=True,
        short="torchvision:resnet18",
        said=1,
    ),
    "hf:owner/net@v1": of_hub("hf:owner/net@v1", "owner/net", "v1"),
    "hf:gpt2": of_hub("hf:gpt2", "gpt2"),
    "hf:owner/net/unet": of_hub("hf:owner/net/unet", "owner/net/unet"),
    "hf:owner/net@refs/pr/1": of_hub("hf:owner/net@refs/pr/1", "owner/net", "refs/pr/1"),
    "hf:./check point@2": of_hub("hf:./check point@2", "./check point@2"),
}

REFUSED = {
    "": "names no model",
    "Net": "names no module",
    "pkg..Net": "names no model",
    "pkg.Net(": "names no model",
    "pkg.Net(width=)": "are not valid Python",
    "pkg.Net(nn.ReLU)": "nn.ReLU is not a literal",
    "pkg.Net(**{})": "`**` cannot be used",
    "pkg.Net(1)(2)": "is not a list of arguments",
    "pkg.Net; import os": "names no model",
    "pkg/net.py": "names no model",
    "hf:": "names no model: write hf:owner/name",
    "hf:owner/../net": "leads out of its folder",
    "hf:owner/net(width=64)": "without arguments",
    "hf:owner//net": "is not a name of the hub",
    "hf:owner/net@": "names no revision behind @",
    "hf:owner/net@a/../b": "names no revision behind @",
    "hf:spaces/owner/net": "names one of the spaces of the hub",
    "timm:resnet50(": "names no model",
}


@pytest.mark.parametrize("text", READ)
def test_reads(text: str) -> None:
    assert parse_target(text) == READ[text]
    assert parse_target(str(READ[text])) == READ[text]


@pytest.mark.parametrize("text", REFUSED)
def test_refuses_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared below)
        parse_target(text)
    assert REFUSED[text] in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        target = parse_target(text)
    except ValueError:
        return
    assert parse_target(str(target)) == target


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ("pkg.Net(3)", "pkg"),
        ("hf.Net", "hf"),
        ("hf:owner/net", "transformers"),
        ("timm:resnet18", "timm"),
        ("torchvision:resnet18", "torchvision"),
    ],
)
def test_a_target_lies_in_a_package(text: str, package: str) -> None:
    assert package_of(text) == package
