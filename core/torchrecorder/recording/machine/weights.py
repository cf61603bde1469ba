"""Pretrained weights are not fetched for a picture: what asks for them gets an answer without the network.

Constructors download their weights, which a builder without network waits for in vain, and one with it does at every
cold build. A picture needs none: the random weights of the constructor stay, and a note says so. In place of what was
to be fetched, code gets an empty dictionary that loading passes over. Only a process that records one model calls this,
since nothing is put back.
"""

from __future__ import annotations

import re
import socket
import sys
import urllib.error
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial, wraps
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlparse

import torch
from torch import nn

from torchrecorder.errors import chain, listed
from torchrecorder.request import Target
from torchrecorder.request.callables import parameters_of
from torchrecorder.running.handles import OnImport

_FILES = re.compile(r"\.(safetensors|bin|pt|pth|ckpt|h5|msgpack|onnx|gguf|npz|tar|pkl)$")
_SWITCHES = re.compile(r"pretrain|download|checkpoint|ckpt", re.IGNORECASE)
_NAMES = re.compile(r"pretrain|weight|checkpoint|ckpt", re.IGNORECASE)
"""Names of parameters that may ask for weights, by being True or by naming them."""
_OF_THE_NETWORK = ("requests.", "urllib3.", "httpx.", "httpcore.", "aiohttp.", "huggingface_hub.")
_SHOWN = 3
"""Files that the note names; the others are most often of the same model."""

_asked: dict[str, None] = {}
"""The addresses and files that were asked for in this process, in order."""
_places: set[str] = set()
"""Where code believes that it has put what it fetched."""


class NotFetched(OrderedDict[str, Any]):
    """Stands for a file of weights: empty, whatever part of it is asked for."""

    def __missing__(self, key: str) -> NotFetched:
        return NotFetched()

    def __delitem__(self, key: str) -> None:
        self.pop(key, None)

    def pop(self, key: str, *default: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The default, as long as nothing was put there."""
        return super().pop(key, default[0] if default else NotFetched())


def refuse_downloads() -> None:
    """Have torch and the libraries that fetch by code of their own fetch no weights from here on, in this process."""
    torch.hub.load_state_dict_from_url = wraps(torch.hub.load_state_dict_from_url)(_not_fetched)
    torch.hub.download_url_to_file = wraps(torch.hub.download_url_to_file)(_not_written)
    torch.load = _unless_not_fetched(torch.load)
    nn.Module.load_state_dict = _loading(nn.Module.load_state_dict)  # type: ignore[method-assign]
    model_zoo: Any = sys.modules.get("torch.utils.model_zoo")  # which has the function by another name
    if model_zoo is not None:
        model_zoo.load_url = torch.hub.load_state_dict_from_url
    for name in _OF_LIBRARIES:
        if name in sys.modules:
            _patch(name)
        else:
            OnImport(name, partial(_patch, name)).__enter__()


def weights_note() -> tuple[str, ...]:
    """A sentence about what was not fetched, if anything was asked for."""
    if not _asked:
        return ()
    names = [PurePosixPath(urlparse(where).path).name or where for where in _asked]
    return (f"pretrained weights were not fetched, and random ones are in their place: {listed(names, _SHOWN)}",)


def advice_on_weights(target: Target, builder: object, error: BaseException) -> str:
    """The text with which a constructor that failed asks for no weights; empty if that was not why it failed."""
    is_missing = any(isinstance(it, FileNotFoundError) and _FILES.search(str(it.filename)) for it in chain(error))
    is_of_the_network = any(
        isinstance(it, ConnectionError | urllib.error.URLError | socket.gaierror)
        or f"{type(it).__module__}.".startswith(_OF_THE_NETWORK)
        for it in chain(error)
    )
    if not (is_missing or _asked or is_of_the_network):
        return ""
    none = "a picture needs no weights" if is_missing else "pretrained weights are not fetched for a picture"
    off = switched_off(builder, target.kwargs)
    if not off:
        return f"{none}: {'name a function that builds' if is_missing else 'build'} the model without them"
    written = replace(target, kwargs={**target.kwargs, **off}, called=True)
    return f"{none}: write {written}"


def switched_off(builder: object, kwargs: Mapping[str, Any]) -> dict[str, bool | None]:
    """Values for the parameters that may ask for weights, by their names and by what they are now."""
    now = {it.name: kwargs.get(it.name, it.default) for it in parameters_of(builder) or ()}
    switches = {name: False for name, value in now.items() if value is True and _SWITCHES.search(name)}
    named = {name: None for name, value in now.items() if isinstance(value, str | Enum) and _NAMES.search(name)}
    return {**switches, **named}


def _not_fetched(url: str | Sequence[str], *args: Any, **kwargs: Any) -> NotFetched:
    _asked[url if isinstance(url, str) else str(next(iter(url), ""))] = None
    return NotFetched()


def _not_written(url: str, dst: Any, *args: Any, **kwargs: Any) -> None:
    _asked[str(url)] = None
    _places.add(str(dst))


def _not_on_hub(repo_id: str, filename: str, *args: Any, **kwargs: Any) -> str:
    where = f"{repo_id}/{filename}"
    if _FILES.search(filename):
        _asked[where] = None
    _places.add(where)
    return where


def _unless_not_fetched(load: Callable[..., Any]) -> Callable[..., Any]:
    """A function that loads a file, but for those that were not fetched."""

    @wraps(load)
    def loaded(f: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(f, str) and f.startswith(("http://", "https://")):
            return _not_fetched(f)
        return NotFetched() if str(f) in _places else load(f, *args, **kwargs)

    return loaded


def _loading(load_state_dict: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(load_state_dict)
    def loading(self: nn.Module, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        # A dictionary that was made of ours is an ordinary one: empty, or with parts of ours as values.
        is_ours = isinstance(state_dict, NotFetched) or (
            bool(_asked)
            and isinstance(state_dict, dict)
            and all(isinstance(value, NotFetched) for value in state_dict.values())
        )
        return (
            load_state_dict(self, self.state_dict()) if is_ours else load_state_dict(self, state_dict, *args, **kwargs)
        )

    return loading


def _unless_it_is_there(download: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(download)
    def downloaded(repo_id: str, filename: str, *args: Any, **kwargs: Any) -> Any:
        if not _FILES.search(filename):  # a configuration: the model cannot be built without it
            return download(repo_id, filename, *args, **kwargs)
        try:
            return download(repo_id, filename, *args, **{**kwargs, "local_files_only": True})
        except Exception:  # its name differs by version: the file is not on this machine
            return _not_on_hub(repo_id, filename)

    return downloaded


_OF_LIBRARIES: dict[str, tuple[str, Callable[..., Any]]] = {
    "safetensors.torch": ("load_file", _unless_not_fetched),
    "huggingface_hub.file_download": ("hf_hub_download", _unless_it_is_there),
    "kornia.core.download": ("load_state_dict_from_url", lambda fetch: wraps(fetch)(_not_fetched)),
    # A configuration beside the weights of an encoder, which is not read.
    "segmentation_models_pytorch.encoders": ("hf_hub_download", lambda fetch: wraps(fetch)(_not_on_hub)),
}
"""By module, the function of a library that fetches or reads weights, and what makes of it one that does not."""


def _patch(name: str) -> None:
    module, (function, changed) = sys.modules[name], _OF_LIBRARIES[name]
    setattr(module, function, changed(getattr(module, function)))
