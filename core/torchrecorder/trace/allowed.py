"""Whose code a page may call, so that text in a page runs no commands. Where it is defined decides, not its name there.

What the project's own code defines is called with whatever the page says. Of what is installed, a page builds models:
classes of `nn.Module`, and functions of the table `BUILDERS`; with arguments that neither fetch, nor name files, nor
are code, since constructors of libraries do all three with a text that they are given.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.metadata
import importlib.util
import inspect
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import PurePath
from urllib.parse import urlsplit
from urllib.request import url2pathname

from torchrecorder.request import Target
from torchrecorder.trace.ownership import folders_of_project, is_installed, is_ours, is_stdlib, is_there
from torchrecorder.trace.trace import distribution_names

EVERYTHING = "*"
"""Allows whatever is named: for who writes the target where commands are written, too."""
BUILDERS: Mapping[str, str] = {
    "torchvision.models._api:BUILTIN_MODELS": "its registry of builders, also of detection, segmentation and video",
    "torchvision.models:get_model": "the same by name",
    "torchaudio.models:*": "its builders, `conv_tasnet_base`, which no registry lists",
    "timm:create_model": "all models of timm",
    "timm.models._registry:_model_entrypoints": "the same as functions, `timm.models.resnet18`",
    "transformers.models.auto.auto_factory:_BaseAutoModelClass.from_config": "the class that goes with a configuration",
    "diffusers.configuration_utils:ConfigMixin.from_config": "a model of a dictionary",
    "segmentation_models_pytorch:create_model": "an architecture and an encoder by name",
    "segment_anything:sam_model_registry": "its models by size",
    "open_clip:create_model": "a text and an image encoder by name",
    "pytorchcv.model_provider:_models": "all models of pytorchcv",
    "pytorchcv.model_provider:get_model": "the same by name",
    "efficientnet_pytorch.model:EfficientNet.from_name": "an EfficientNet by size",
    "monai.networks.nets:*": "its ResNets are functions beside classes",
}
"""Functions of installed packages that build a model with random weights, each with what it gives. A mapping is a
registry of such functions; `*` stands for all that a package defines and offers in this module."""

_CODE_IN = ("trust_remote_code", "custom_pipeline", "code_revision", "auto_map", "custom_load")
"""Arguments, and keys of dictionaries, by which libraries run code that comes with a model."""
_TARGETS_IN = ("_target_", "class_path")
"""Keys of dictionaries that name what a library calls: Hydra's, MONAI's and NeMo's, and Lightning's."""
_GUARDS = ("weights_only", "load_weights_only", "safe_load")
"""Arguments that keep a library from unpickling code, unless they are false."""
_ADDRESS = re.compile(r"(?!\w+:\d+$)[A-Za-z][\w+.-]*:\S")
"""`https://…`, `hf-hub:owner/name`, `local-dir:folder`; not `cuda:0`."""
_SAVED = re.compile(
    r"(?i).*\.(pt|pth|pt2|bin|ckpt|checkpoint|pkl|pickle|joblib|dill|np[yz]|h5|hdf5|keras|msgpack|onnx|gguf|nemo|mar"
    r"|safetensors|zip|tar|tgz|gz|pyc?|so|dll|dylib)"
)
_CALLS = re.compile(r"__|[\w\])]\(|\blambda\b|\bimport\b")


def may_import(dotted: str, allow: Sequence[str]) -> bool:
    """Whether a page may have the name looked up: importing some of Python's own modules starts programs."""
    top, *rest = dotted.split(".")
    is_harmless = not _is_of_python(top) and "__main__" not in rest
    return is_harmless or any(_is_within(dotted, entry) or entry == EVERYTHING for entry in allow)


def may_call(dotted: str, found: object, allow: Sequence[str]) -> bool:
    """Whether a page may call what it names with any arguments: the project's own code, and what the site allows.

    `found` is the object of the name in the page, `allow` the packages, modules and functions that the site allows.
    """
    module, name = _definition(unwrapped(found))
    defined = f"{module}.{name}"
    if EVERYTHING in allow or dotted in allow or any(_is_within(defined, entry) for entry in allow):
        return True
    top = module.partition(".")[0]
    if not top or _is_of_python(top):
        return False
    if not (files := _files(top)):
        return top == "__main__"
    return all(is_ours(file) or not is_installed(file) for file in files) or _is_built_from_project(top)


def builds(found: object) -> bool:
    """Whether an installed class or function is known to give a model, and to do nothing else."""
    builder = unwrapped(found)
    bases = {(cls.__module__, cls.__qualname__) for cls in builder.__mro__} if isinstance(builder, type) else set()
    is_model = ("torch.nn.modules.module", "Module") in bases
    return is_model or is_loader(builder) or any(_is_named_by(entry, builder) for entry in BUILDERS)


def is_loader(found: object) -> bool:
    """Whether it gives a module from a file of the project, into which `recording.saved` looks before."""
    return ".".join(_definition(found)) in ("torch.export.load", "torch.jit._serialization.load")


def refused_argument(target: Target, found: object) -> str:
    """The argument that makes more of building a model than that, and how; empty if none does."""
    for name, value in _named_values(target, found):
        if name in _CODE_IN and value not in (None, False):
            return f"{name}={value!r} may run code that comes with a model"
        if name in _TARGETS_IN:
            return f"{name}: {value!r} names what the library calls"
        if name in _GUARDS and not value:
            return f"{name}={value!r} has code unpickled"
        if isinstance(value, str | bytes) and (reason := _refused_text(os.fsdecode(value), is_loader(found))):
            return f"{value!r} {reason}"
    return ""


def unwrapped(found: object) -> object:
    """The function that a `functools.partial` calls in the end; all else as it is."""
    while isinstance(found, functools.partial):
        found = found.func
    return found


def _refused_text(text: str, is_loaded: bool) -> str:
    """The reason why a page must not give a library a text; empty if it may."""
    if _is_outside(text):
        return "is a path outside of the project"
    if _ADDRESS.match(text):
        return "is an address, from which a library may fetch"
    if is_loaded:
        return ""
    if _SAVED.fullmatch(text) or (not text.isidentifier() and is_there(text)):
        return "is a file, which the library may load"
    return "is code, which the library may run" if _CALLS.search(text) or _is_code(text) else ""


def _is_outside(text: str) -> bool:
    """Whether a text is a path that leaves the project, also by a link."""
    if text.startswith(("~", "\\")) or "\0" in text or re.match(r"[A-Za-z]:[\\/]", text):
        return True
    text = text.replace("\\", "/")
    is_path = os.path.isabs(text) or ".." in PurePath(text).parts or is_there(text)
    return is_path and not any(_is_within(os.path.realpath(text), folder, os.sep) for folder in folders_of_project())


def _is_code(text: str) -> bool:
    """Whether it calls or defines something in Python: `einops` and others have patterns of letters and brackets."""
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.Call | ast.Lambda | ast.Import | ast.ImportFrom) for node in ast.walk(tree))


def _named_values(target: Target, found: object) -> Iterator[tuple[str, object]]:
    """All values in the arguments of a target, each with the name of its parameter or its key."""
    named: Mapping[str, object] = target.kwargs
    try:
        named = inspect.signature(found).bind_partial(*target.args, **target.kwargs).arguments  # type: ignore[arg-type]
    except (TypeError, ValueError):  # it takes them by another signature than it shows
        yield from _values("", target.args)
    yield from _values("", {**named, **target.kwargs})


def _values(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _values("", key) if not isinstance(key, str) else [("", key)]
            yield from _values(str(key), inner)
    elif isinstance(value, tuple | list | set | frozenset):
        for inner in value:
            yield from _values(name, inner)
    else:
        yield name, value


def _is_named_by(entry: str, found: object) -> bool:
    module, _, name = entry.partition(":")
    holder = sys.modules.get(module)
    if holder is None:
        return False
    if name == "*":
        own, attribute = _definition(found)
        return _is_within(own, module) and inspect.isfunction(found) and vars(holder).get(attribute) is found
    try:
        named = attrgetter(name)(holder)
    except AttributeError:  # of another version
        return False
    if isinstance(named, Mapping):
        return any(found is one for one in named.values())
    owner, base = getattr(found, "__self__", None), getattr(named, "__self__", None)
    is_of_class = owner is base or (isinstance(owner, type) and isinstance(base, type) and issubclass(owner, base))
    return is_of_class and _definition(found) == _definition(named)  # transformers copies it for each class


def _definition(found: object) -> tuple[str, str]:
    """The module and the name that an object was defined with; its class's, if it is none of class and function."""
    found = getattr(found, "__func__", found)
    if not isinstance(getattr(found, "__qualname__", None), str):
        found = type(found)
    module, name = getattr(found, "__module__", None), getattr(found, "__qualname__", "")
    return (module, name) if isinstance(module, str) else ("", name)


def _is_within(name: str, entry: str, mark: str = ".") -> bool:
    return name == entry or name.startswith(entry + mark)


def _is_built_from_project(top: str) -> bool:
    """Whether it was installed from a folder of the project, as `pip install .` does where documentation is built."""
    for distribution in distribution_names().get(top, ()):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
            origin = json.loads(importlib.metadata.distribution(distribution).read_text("direct_url.json") or "{}")
            source = os.path.realpath(url2pathname(urlsplit(origin.get("url", "")).path))
            if "dir_info" in origin and any(_is_within(source, folder, os.sep) for folder in folders_of_project()):
                return True
    return False


def _is_of_python(top: str) -> bool:
    return top in sys.builtin_module_names or (top in sys.stdlib_module_names and all(map(is_stdlib, _files(top))))


@functools.cache
def _files(top: str) -> tuple[str, ...]:
    """Places of a top-level module: its file, or the folders of a namespace package."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):  # a module without a spec
        file = getattr(sys.modules.get(top), "__file__", None)
        return (file,) if isinstance(file, str) else ()
    if spec is None:
        return ()
    if spec.origin is None:
        return tuple(spec.submodule_search_locations or ())
    return (f"<frozen {top}>" if spec.origin in ("built-in", "frozen") else spec.origin,)
