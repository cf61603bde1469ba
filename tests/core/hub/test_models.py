"""Configurations of twenty kinds of models to graphs, and a documentation that shows one of the hub."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.core.hub.server import FIRST, SECOND, Hub, serving
from torchrecorder.errors import HubFailed
from torchrecorder.graph import Graph, from_json, to_json
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.job import record

pytestmark = [pytest.mark.transformers, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("transformers")

CONFIGS = Path(__file__).parents[2] / "data" / "hub"
NAMES = sorted(folder.name for folder in CONFIGS.iterdir())
_OF_OTHERS = {"diffusion-sd15": "diffusers", "vision-resnet50-timm": "timm"}

SHEETS = {
    "dense-llama-70b": {"parameters": 68_976_648_192, "kv_cache": 327_680, "heads": 64, "kv_heads": 8, "context": 4096},
    "moe-mixtral-8x7b": {"parameters": 46_702_792_704, "active": 12_879_925_248, "experts": 8, "chosen": 2},
    "moe-deepseek-v2-lite": {"parameters": 15_706_484_224, "kv_cache": 31_104, "experts": 64, "chosen": 6},
    "encoder-bert-base": {"parameters": 109_514_298, "vocabulary": 30_522, "params.attention": 28_348_416},
    "encdec-t5-small": {"parameters": 60_506_624, "kv_cache": 12_288},
    "diffusion-sd15": {"parameters": 859_520_964, "part.vae": 83_653_863, "part.text_encoder": 123_060_480},
    "vision-resnet50-timm": {"parameters": 25_557_032},
}
"""As their authors publish them."""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CONFIGS)


def drawn(name: str) -> Graph:
    return record(RecordingRequest(f"hf:./{name}"))


def test_there_are_twenty_kinds() -> None:
    assert len(NAMES) == 20
    kinds = {name.partition("-")[0] for name in NAMES}
    assert kinds == {"dense", "moe", "encoder", "encdec", "vision", "audio", "multimodal", "diffusion", "ssm"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("here")
def test_a_configuration_alone_is_drawn(name: str) -> None:
    library = _OF_OTHERS.get(name, "transformers")
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    graph = drawn(name)
    assert graph.info.executed in ("fake", "meta", "bfloat16")
    assert graph.info.grade == "model"
    assert len(graph.calls) > 20
    facts = {"parameters": graph.modules[""].params.total, **graph.info.sheet}
    expected = SHEETS.get(name, {})
    assert {key: facts[key] for key in expected} == expected
    kinds = sum(value for key, value in facts.items() if key.startswith("params.") and isinstance(value, int))
    assert kinds == facts["weights.int8"] == facts["parameters"]
    assert from_json(to_json(graph)).info.sheet == graph.info.sheet


@pytest.mark.usefixtures("here")
def test_parts_that_were_not_called_are_named() -> None:
    said = "not called with these inputs, and not drawn: model.vision_tower, model.multi_modal_projector"
    of_words = record(RecordingRequest("hf:./multimodal-llava-7b", "input_ids=int64[1,16]<32000"))
    assert said in of_words.info.notes
    for name in ("multimodal-llava-7b", "moe-deepseek-v2-lite"):  # the first one sees a picture if it is not told
        assert not [note for note in drawn(name).info.notes if "not called" in note]


SMALL = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "intermediate_size": 37,
}
CUSTOM = {"AutoModel": "modeling_net.Net"}
FAULTS = {
    "custom code": (
        {"model_type": "net", "architectures": ["Net"], "auto_map": CUSTOM},
        "it needs code of its repository, which is never run",
    ),
    "an unknown class": ({"model_type": "net", "architectures": ["NetModel"]}, "has no model NetModel"),
    "what is not a class": ({"architectures": ["pipeline"]}, "has no model pipeline"),
    "nothing": ({}, "finds neither a type nor a class in its config.json"),
    "sizes that do not fit": ({**SMALL, "num_attention_heads": 5}, "builds no model of its configuration: "),
    "sizes of another type": ({**SMALL, "hidden_size": "many"}, "builds no model of its configuration: "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_gives_no_model_is_refused_with_a_sentence(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, said = FAULTS[fault]
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "modeling_net.py").write_text("raise SystemExit('it was run')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HubFailed) as caught:
        record(RecordingRequest("hf:./"))
    assert said in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_a_library_of_a_pipeline_that_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = {"_class_name": "Pair", "words": ["diffusers", "ImageProcessor"], "unet": ["diffusers", "UNet"]}
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(HubFailed, match=r"its model is one of diffusers.*\n?.*python -m pip install diffusers"):
        record(RecordingRequest("hf:./"))


def test_a_part_that_is_no_model_may_need_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> object:
            if name == "Images":
                raise ModuleNotFoundError("no module named 'PIL'")
            return getattr(transformers, name)

    transformers = importlib.import_module("transformers")
    monkeypatch.setitem(sys.modules, "transformers", Lazy("transformers"))
    index = {"_class_name": "Pair", "seen": ["transformers", "Images"], "net": ["transformers", "BertModel"]}
    (tmp_path / "net").mkdir()
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    (tmp_path / "net" / "config.json").write_text(json.dumps(SMALL))
    monkeypatch.chdir(tmp_path)
    assert record(RecordingRequest("hf:./")).modules[""].cls.endswith("BertModel")


def test_code_of_a_repository_is_left_where_the_library_has_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = {"attn_implementation": "owner/kernel", "_attn_implementation_internal": "owner/kernel"}
    config = {**SMALL, **kernels, "auto_map": CUSTOM, "quantization_config": {"quant_method": "gptq", "bits": 4}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    graph = record(RecordingRequest("hf:./"))
    assert graph.modules[""].cls.endswith(".BertModel")
    assert any("code of its own, which was not run" in note for note in graph.info.notes)


CONF = """
project = "nets"
extensions = ["sphinx_torchrecorder"]
torchrecorder_cache = "diagrams"
"""
PAGE = """
Nets
====

.. torchrecorder:: hf:owner/net

.. torchrecorder:: hf:owner/net@v1
   :depth: 1
"""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving(Hub({"owner/net": {"config.json": json.dumps(SMALL)}})) as served:
        yield served


def run(folder: Path, hub: Hub, *command: str) -> tuple[int, str]:
    given = {
        "HF_ENDPOINT": hub.address,
        "HF_HOME": str(folder / "home"),
        "HF_HUB_OFFLINE": "0",
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_page_stays_at_its_commit_until_it_is_asked_to_move(hub: Hub, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "conf.py").write_text(CONF)
    (docs / "index.rst").write_text(PAGE)
    status, said = run(tmp_path, hub, "torchrecorder", "update", "docs")
    assert status == 0, said
    files = (file for file in (docs / "diagrams" / "rec").rglob("*") if file.is_file())
    manifests = [json.JSONDecoder().raw_decode(file.read_text())[0] for file in files]
    commits = {key: commit for manifest in manifests for key, commit in manifest["commits"].items()}
    assert commits == {"owner/net": FIRST, "owner/net@v1": FIRST}
    assert not [manifest for manifest in manifests if "untracked" in manifest]

    hub.asked.clear()
    hub.commits["owner/net"] = SECOND
    build = ("sphinx", "-b", "html", "docs", "out", "-W")
    status, said = run(tmp_path, hub, *build)
    assert status == 0, said
    assert f"hf:owner/net shows commit aaaaaaa of the hub; hf:owner/net@{FIRST} stays at it" in said
    assert run(tmp_path, hub, "torchrecorder", "check", "docs")[0] == 0
    assert hub.asked == []
    page = (tmp_path / "out" / "index.html").read_text()
    assert "BertModel" in page
    assert "tokens in the vocabulary" in page

    status, said = run(tmp_path, hub, "torchrecorder", "check", "docs", "--hub")
    assert status == 1
    assert "hf:owner/net: owner/net moved on the hub from commit aaaaaaa to bbbbbbb" in said
    status, said = run(tmp_path, hub, "torchrecorder", "update", "docs", "--hub")
    assert (status, "1 to be recorded" in said) == (0, True), said
    assert run(tmp_path, hub, "torchrecorder", "check", "docs", "--hub")[0] == 0


README = """\
# Nets

<!-- torchrecorder: hf:owner/net -->
<!-- /torchrecorder -->
"""


def test_a_picture_in_a_file_is_of_the_hub(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.torchrecorder]\ncache = "diagrams"\n')
    (tmp_path / "README.md").write_text(README)
    status, said = run(tmp_path, hub, "torchrecorder", "update")
    assert status == 0, said
    assert f"note: hf:owner/net shows commit aaaaaaa of the hub; hf:owner/net@{FIRST} stays at it" in said
    hub.commits["owner/net"] = SECOND
    assert run(tmp_path, hub, "torchrecorder", "check")[0] == 0
    status, said = run(tmp_path, hub, "torchrecorder", "check", "--hub")
    assert (status, "moved on the hub" in said) == (1, True), said
    assert run(tmp_path, hub, "torchrecorder", "update", "--hub")[0] == 0
    assert run(tmp_path, hub, "torchrecorder", "check", "--hub")[0] == 0


def test_of_a_pipeline_configurations_alone_are_asked_for(hub: Hub, tmp_path: Path) -> None:
    parts = {"first": ["transformers", "BertModel"], "second": ["transformers", "BertModel"], "words": [None, None]}
    index = {"_class_name": "Pair", **parts, "tokenizer": ["transformers", "BertTokenizer"]}
    files = {f"{part}/config.json": json.dumps(SMALL) for part in ("first", "second")}
    hub.files = {"owner/pair": {"model_index.json": json.dumps(index), **files}}
    status, said = run(tmp_path, hub, "torchrecorder", "draw", "hf:owner/pair@v1")
    assert status == 0, said
    assert "of Pair this is `first`; the other parts are `hf:owner/pair/second@v1`" in said
    assert "first 27.5 k, second 27.5 k" in said
    asked = {line.partition(f"/{FIRST}/")[2] or line.partition("/v1/")[2] for line in hub.asked}
    assert asked == {"config.json", "model_index.json", "first/config.json", "second/config.json"}


def test_the_command_draws_and_says_what_a_wrong_name_lacks(hub: Hub, tmp_path: Path) -> None:
    status, said = run(tmp_path, hub, "torchrecorder", "draw", "hf:owner/net", "hf:owner/none", "-o", "out/")
    assert status == 1
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["hf-owner-net.svg"]
    assert f"error: hf:owner/none: cannot draw hf:owner/none: {hub.address} shows no model owner/none" in said
    status, said = run(tmp_path, hub, "torchrecorder", "draw", f"hf:owner/net@{FIRST}")
    assert (status, "attention heads            4" in said) == (0, True), said
