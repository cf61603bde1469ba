"""The texts that pages show besides those of an author: a front end translates them, the core alone knows them all.

In a text that has facts in it, `{}` stands for each.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from typing import TypeAlias

Translate: TypeAlias = Callable[[str], str]

CATALOG, LOCALE = "torchrecorder", Path(__file__).with_name("locale")
"""The texts in other languages, for gettext."""
ASSETS = Path(__file__).with_name("assets")
"""The folder with nothing but the style sheet, the script, and that of tables of models."""
STYLE, SCRIPT, MODELS_SCRIPT = "torchrecorder.css", "torchrecorder.js", "torchrecorder-models.js"
_INSET = re.compile("[A-Z]: ")  # beginning of a note of an inset
_SIMPLIFIED = ("zh", "zh_Hans")  # what tools call the Chinese that gettext knows as `zh_CN`

TABLE_HEAD = ("Layer", "Name", "Class", "Output", "Parameters", "FLOPs")
FIGURE = ("Architecture of {}", "Layers as a table", "Layers", "Depth", "Depth {}", "{} each", *TABLE_HEAD)
BOX = ("No diagram of {}", "No diagram", "It was not drawn.")
ABOUT = "About this picture"
SCRIPT_WORDS = (
    *("Details", "In", "Class", "Settings", "Parameters", "FLOPs", "Input", "Output", "Source", "Repeats", "Parts"),
    *("Notes", "all", "Open", "Documentation", "Copy link", "Link copied", "Close", "Find layer", "{} found"),
    "{} of {}",
    *("Zoom in", "Zoom out", "Show all", "Full screen", "link", "Save SVG", "Save PNG"),
    "This page does not allow it",
    ABOUT,
)
"""What the script says."""
SIZES = "Sizes for an example input: {}"
EXAMPLE = "Drawn for an example input, without sizes."
"""The line below a picture whose inputs were found."""
IN_TABLE = ("{}: for an example input.", "{} of {}: for an example input.")
"""The line below a table of models whose inputs were found, of all or of some."""
SIGNS = {
    "N": "the batch: how many examples run at once",
    "×4": "equal layers in series, drawn once: each reads the one before",
    "6 in parallel": "equal layers that do not read one another, drawn once",
    "called 4 times · shared": "one module that is called again; its parameters are counted once",
    "loop": "a call depends on an earlier one; the first is drawn",
    "2 of 5 · shared": "one of the places where calls of one module are drawn; its parameters are counted at the first",
    "without downsample": "what some of the layers lack that are drawn once",
    "A": "a kind of layer, which is drawn beside the picture under this letter",
    "64→128": "features that enter and leave",
    "3×3 /2": "the size of a kernel, and behind / its stride",
    "+": "the sum of what enters",
    "a line in colour": "a skip connection: the same data on a shorter way",
    "from layer2": "one half of a line: the name says where the other half is",
    "2nd half": "which part of a tensor comes here, where others take another part or the rest is dropped",
    "a line back": "what the next turn of a loop reads",
    "a small sign at a corner": "calls of one module, which share its parameters",
    "a diamond": "the code decides by these numbers which way it goes",
    "a dashed node": "data from or for another part of the picture",
    "params": "numbers that are learned; k is a thousand, M a million",
    "FLOPs": "operations on numbers in one run of the model",
}
"""Signs of pictures with their meanings, as the page of the guide on reading has them."""
GRADES = {
    "declared": "inputs as the model declares them: {}",
    "model": "inputs guessed from what the model says of itself: {}",
    "layer": "inputs guessed from its first layers: {}",
    "names": "inputs guessed from names alone, so no sizes are shown: {}",
}
"""What is said of guessed inputs, by the grade of the guess."""
NOTES = (
    "This diagram is out of date: {}",
    "This diagram is not complete: {}",
    "depth {} is too large for the switch; a picture of its own, with that depth, shows it",
    "depth {} would show {} nodes, so this is depth {}; "
    "focus shows one layer alone, expand opens layers, and expand: ** opens all",
    "{} steps in the middle are drawn as one node; expand: ** draws each of them",
    "this diagram shows {} nodes; a smaller depth, collapse or focus make it easier to read",
    "not drawn: {}; depth: all draws everything",
    "closed, because the picture is full: {}; expand opens them",
    "activations: {}, without autograd",
    "pretrained weights were not fetched, and random ones are in their place: {}",
    "built as in an example of its docstring: {}",
    "built as in {}",
    "built with what {} takes by default: {}",
    "built with what the names of its parameters suggest: {}",
    "built without arguments, since it cannot be built with those of its pattern",
    "{} stands for {}, which this machine does not have{}",
    "one branch of `{}` was taken, {}",
    "values left PyTorch through {}",
    "a tensor of unknown origin {}",
    "not looked into: arguments of class {}; tensors in them are drawn as constants",
    "layers ran in another thread: what they gave is drawn as constants",
    "a thread was started {}: what operations in it gave is drawn as constants",
    "not called with these inputs, and not drawn: {}",
    "of {} this is {}; the other parts are {}",
    "its repository has code of its own, which was not run: this is the class that transformers has",
    "the forward returned no tensor",
    "the forward gives an iterator, of which {} items were taken",
    "the forward ran on fake tensors: the inputs were guessed, and with them it takes more than {} s on real ones",
    "the forward ran {}, because {}",
    "nothing, since the forward has no parameters",
    "the example_input_array of {}",
    "the dummy_inputs of {}",
    "{}, from the annotations of its forward",
    "{}, from the config of {}",
    "{}, from the names of its parameters and {}",
    "{}, from {}",
)
"""What is said under pictures, but for what only those read who look into an error."""


def assets() -> tuple[str, str, str]:
    """Contents of the style sheet, the script, and the script of tables of models."""
    style, script, models = (ASSETS.joinpath(it).read_text(encoding="utf-8") for it in (STYLE, SCRIPT, MODELS_SCRIPT))
    return style, script, models


def in_english(text: str) -> str:
    return text


@cache
def translation(language: str) -> Translate:
    """The translation function for a language, `de`, `pt-BR` or `zh_CN`; English where there is no translation."""
    name = language.replace("-", "_")
    catalog = gettext.translation(CATALOG, LOCALE, ["zh_CN" if name in _SIMPLIFIED else name], fallback=True)
    return catalog.gettext if isinstance(catalog, gettext.GNUTranslations) else in_english


def translated(note: str, translate: Translate) -> str:
    """A note in another language, with its facts; as it is, if it is none of `NOTES` or has no translation."""
    if translate is in_english:
        return note
    inset = _INSET.match(note)
    if inset is not None:
        return inset[0] + translated(note[inset.end() :], translate)
    for template, pattern in _patterns():
        if (facts := pattern.fullmatch(note)) and (text := translate(template)) != template:
            return text.format(*facts.groups())
    return note


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [(note, re.compile("(.*?)".join(map(re.escape, note.split("{}"))), re.DOTALL)) for note in NOTES]


def coded(note: str) -> str:
    """HTML of a note."""
    return "".join(f"<code>{escape(text)}</code>" if is_code else escape(text) for text, is_code in with_code(note))


def with_code(note: str) -> list[tuple[str, bool]]:
    """The stretches of a note, and whether each is code, which stands between backticks."""
    stretches = note.split("`")
    if len(stretches) % 2 == 0:  # the code has a backtick of its own
        return [(note, False)]
    return [(text, i % 2 == 1) for i, text in enumerate(stretches) if text]
