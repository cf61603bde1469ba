"""What is asked of the process that records: all that decides the Graph, and nothing that decides its picture."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from torchrecorder.request.target import parse_target

REVISION = 1
"""Raised when the same model and request give another Graph than before."""

_TO_TEXT = json.JSONEncoder(sort_keys=True).encode  # made once: `json.dumps` makes another for each key

Run = Literal["auto", "real", "fake", "meta"]
Mode = Literal["eval", "train"]
RecorderName = Literal["modern", "classic"]


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """One model and how it is called. Texts are in the one spelling their grammar gives back."""

    target: str
    shape: str = ""
    """As `request.shapes` writes it; empty: the inputs are found."""
    inputs: str = ""
    """Dotted name of the inputs, or of a function that makes them; empty: `shape` says them."""
    mode: Mode = "eval"
    run: Run = "auto"
    seed: int = 0
    recorder: RecorderName = "modern"
    """`classic` records as torchrecorder 1.0.3 does."""
    depends: tuple[str, ...] = ()
    """Files, folders and environment variables (`$NAME`) it depends on besides those that can be traced."""

    def key(self) -> str:
        """Names the request in the cache: the SHA-256 of its JSON, in hexadecimal digits."""
        facts = {"torchrecorder_request": REVISION, **self.to_json()}
        return hashlib.sha256(_TO_TEXT(facts).encode()).hexdigest()

    def root_module(self) -> str:
        """The top-level package or module the target lies in."""
        return parse_target(self.target).dotted.split(".")[0]

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> RecordingRequest:
        """The request that `to_json` wrote."""
        return RecordingRequest(**{**data, "depends": tuple(data.get("depends", ()))})
