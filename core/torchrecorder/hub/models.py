"""From the configuration of a repository to its model on the meta device, where no weight takes memory."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import torch
from torch import nn

from torchrecorder.errors import HubFailed, listed
from torchrecorder.graph import Graph
from torchrecorder.hub.files import Repository
from torchrecorder.hub.sheet import Sheet, components, sheet
from torchrecorder.request.callables import parameters_of

_CONFIG, _INDEX = "config.json", "model_index.json"
_CLASS = "_class_name"  # key by which diffusers names the class of a pipeline or of a part of one
_CHOOSES_CODE = ("attn_implementation", "experts_implementation", "quantization_config", "auto_map", "custom_pipelines")
"""Keys, or ends of them, that would have a library fetch kernels, or code for numbers that are not there."""
_OF_STEPS = {"timestep", "timesteps", "t"}
"""What the forward of the part of a pipeline takes that is called in each step."""
_LIBRARIES = ("transformers", "diffusers")
_LISTED = 3  # modules that a note names
_told: list[tuple[nn.Module, Sheet, tuple[str, ...]]] = []
"""The models that this process built from the hub, with what is to be said of them."""


def with_facts(graph: Graph, model: nn.Module) -> Graph:
    """The Graph of a model with its fact sheet and notes; as it is, for a model that is not from here."""
    found = next(((facts, notes) for one, facts, notes in _told if one is model), None)
    if found is None:
        return graph
    facts, notes = found
    idle = [*_idle(graph, model)]
    notes += (f"not called with these inputs, and not drawn: {listed(idle, _LISTED)}",) if idle else ()
    return replace(graph, info=replace(graph.info, sheet=facts, notes=(*notes, *graph.info.notes)))


def _idle(graph: Graph, model: nn.Module) -> Iterator[str]:
    """The outermost modules with parameters of which the forward used nothing."""
    used = {*graph.modules, *(value.name for value in graph.values if value.name)}
    busy = {path for name in used for path in accumulate(name.split("."), "{}.{}".format)}
    for path, module in model.named_modules():
        is_outermost = path.rpartition(".")[0] in {"", *busy}
        if path and path not in busy and is_outermost and any(True for _ in module.parameters()):
            yield path


def from_hub(name: str, revision: str = "") -> nn.Module:
    """The model of a repository, a part of one, or a folder: `owner/name`, `owner/name/unet`, `./checkpoint`.

    Of a pipeline of diffusers it is the part that is called in each step.

    Raises:
        HubFailed: There is none, it needs code of its own, or no library that is installed has its class.
    """
    repository = Repository.of(name, revision)
    made = _Made(repository)
    config = repository.config(_CONFIG)
    index = None if config is not None else repository.config(_INDEX)
    if config is not None:
        model = made.of(config)
        facts = sheet(model, config)
    elif index is not None:
        model, facts = made.of_pipeline(index)
    else:
        raise repository.lacks(_CONFIG, _INDEX)
    if repository.commit:
        facts = {"commit": repository.commit, **facts}
    _told.append((model, facts, tuple(made.notes)))
    return model


@dataclass(slots=True)
class _Made:
    """Models of one repository."""

    repository: Repository
    notes: list[str] = field(default_factory=list)

    def of_pipeline(self, index: Mapping[str, Any]) -> tuple[nn.Module, Sheet]:
        """The part that is called in each step, and the sheet with all parts."""
        parts: dict[str, nn.Module] = {}
        configs: dict[str, Mapping[str, Any]] = {}
        for part, value in index.items():
            if not isinstance(value, list) or len(value) != 2 or value[0] not in _LIBRARIES:
                continue
            within, is_module = self._part(part), self._is_module(*value)
            config = within.config(_CONFIG) if is_module is not False else None
            if is_module and config is None:
                raise within.lacks(_CONFIG)
            if config is not None:
                parts[part], configs[part] = _Made(within).of(config), config
                self.repository.commit = self.repository.commit or within.commit
        if not parts:
            raise self.repository.failed(f"its {_INDEX} names no part that an installed library has")
        taken = {part: {p.name for p in parameters_of(model.forward) or ()} for part, model in parts.items()}
        shown = next((part for part in parts if taken[part] & _OF_STEPS), next(iter(parts)))
        if len(parts) > 1:
            others = ", ".join(f"`{self._part(part).target}`" for part in parts if part != shown)
            self.notes.append(f"of {index.get(_CLASS, 'the pipeline')} this is `{shown}`; the other parts are {others}")
        return parts[shown], {**sheet(parts[shown], configs[shown]), **components(parts)}

    def _part(self, part: str) -> Repository:
        whole = self.repository
        if whole.folder is not None:
            return Repository(f"{whole.name}/{part}", folder=whole.folder / part)
        within = Repository(whole.name, whole.revision, f"{whole.inside}{part}/")
        within.commit = whole.commit
        return within

    def of(self, config: Mapping[str, Any]) -> nn.Module:
        """The model of a configuration."""
        if "architecture" in config and "model_type" not in config:
            return self._built("timm", lambda timm: _of_timm(timm, config))
        if _CLASS in config:
            return self._built("diffusers", lambda diffusers: self._of_diffusers(diffusers, config))
        return self._built("transformers", lambda transformers: self._of_transformers(transformers, config))

    def _imported(self, library: str) -> Any:
        try:
            return importlib.import_module(library)
        except Exception as error:  # also of a package that it needs
            advice = f"python -m pip install {library} where models are recorded"
            raise self.repository.failed(f"its model is one of {library}: {error}", advice) from error

    def _is_module(self, library: str, name: object) -> bool | None:
        """Whether a library has a class of modules with that name, not a scheduler; None if that cannot be loaded."""
        module = self._imported(library)
        try:
            found = getattr(module, str(name), None)
        except Exception:  # a package that it needs is missing
            return None
        return isinstance(found, type) and issubclass(found, nn.Module)

    def _built(self, library: str, build: Callable[[Any], nn.Module]) -> nn.Module:
        module = self._imported(library)
        try:
            # What a constructor would fetch besides, as the weights of a backbone, is refused by the hub's own library.
            with _offline(), torch.device("meta"):
                return build(module)
        except HubFailed:
            raise
        except Exception as error:
            said = str(error).strip().partition("\n")[0]
            version = getattr(module, "__version__", "")
            reason = f"{library} {version} builds no model of its configuration: {type(error).__name__}: {said}"
            raise self.repository.failed(reason) from error

    def _of_transformers(self, transformers: Any, config: Mapping[str, Any]) -> nn.Module:
        names = config.get("architectures")
        name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
        found = getattr(transformers, name, None) if name.isidentifier() else None
        is_model = isinstance(found, type) and issubclass(found, transformers.PreTrainedModel)
        cls: Any = found if is_model else None
        kind, known = config.get("model_type"), transformers.models.auto.configuration_auto.CONFIG_MAPPING
        if kind not in known and (cls is None or cls.config_class is None):
            raise self._unknown(name or str(kind or ""), "transformers", transformers, is_custom="auto_map" in config)
        reads = known[kind] if kind in known else cls.config_class  # noqa: SIM401 (it is read when it is asked for)
        read = reads.from_dict(_without_code(config))
        if "auto_map" in config:
            text = "its repository has code of its own, which was not run: this is the class that transformers has"
            self.notes.append(text)
        made_by = cls if cls is not None and isinstance(read, cls.config_class) else transformers.AutoModel.from_config
        made: nn.Module = made_by(read)
        return made

    def _of_diffusers(self, diffusers: Any, config: Mapping[str, Any]) -> nn.Module:
        name = str(config[_CLASS])
        found = getattr(diffusers, name, None) if name.isidentifier() else None
        cls: Any = found
        if not (isinstance(found, type) and issubclass(found, diffusers.ModelMixin)):
            raise self._unknown(name, "diffusers", diffusers, is_custom="auto_map" in config)
        made: nn.Module = cls.from_config(_without_code(config))
        return made

    def _unknown(self, name: str, library: str, module: Any, *, is_custom: bool) -> HubFailed:
        version = f"{library} {module.__version__}"
        if is_custom:
            reason = f"it needs code of its repository, which is never run, and {version} has no class for it"
            advice = "name the class in your project that builds it, as in pkg.Net"
            return self.repository.failed(reason, advice)
        what = f"has no model {name}" if name else f"finds neither a type nor a class in its {_CONFIG}"
        return self.repository.failed(f"{version} {what}", f"is a newer {library} needed?" if name else "")


def _of_timm(timm: Any, config: Mapping[str, Any]) -> nn.Module:
    """A model of timm, of whose configuration the sizes alone are used: other keys name files."""
    sizes = {key: config[key] for key in ("num_classes", "global_pool") if key in config}
    own = config.get("pretrained_cfg", {})
    sizes["pretrained_cfg"] = {key: own[key] for key in ("input_size", "num_classes") if key in own}
    model: nn.Module = timm.create_model(str(config["architecture"]).split(":")[-1], pretrained=False, **sizes)
    return model


def _without_code(value: Any) -> Any:
    """A configuration without what would have more done than a model built of its sizes."""
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if not str(key).endswith(_CHOOSES_CODE)}
        plain = {key: _without_code(item) for key, item in kept.items()}
        return plain | ({"use_pretrained_backbone": False} if "use_pretrained_backbone" in plain else {})
    return [_without_code(item) for item in value] if isinstance(value, list) else value


@contextmanager
def _offline() -> Iterator[None]:
    """Have the hub's library answer no question."""
    constants: Any = importlib.import_module("huggingface_hub.constants")
    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
