"""Words of a line that say a diagram: `pkg.Net(width=64) depth=2 shape="1,3; 1,8" {.wide #net}`, in any order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchrecorder.request.reading import Body

_PAIR = re.compile(r"(?P<name>[A-Za-z][\w-]*)=(?P<value>.*)", re.ASCII | re.DOTALL)
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "\"'"


def read_header(text: str) -> Body:
    """Body of the words; the lines below it may say more."""
    options, others, problems = read_words_of_options(text)
    target, *more = others or [""]
    problems += [f"cannot read {word!r}: the model is {target}, and an option is written `depth=2`" for word in more]
    return Body(target, options, tuple(problems))


def read_words_of_options(text: str) -> tuple[dict[str, str | None], list[str], list[str]]:
    """The options of a line, the words that are none, and what is wrong."""
    options: dict[str, str | None] = {}
    others, problems = [], []
    for word in _words(text):
        name, value = _option(word)
        if name in options and name != "class":
            problems.append(f"{name} is given twice")
        if name:
            options[name] = f"{options[name]} {value}" if name in options and name == "class" else value
        else:
            others.append(word)
    return options, others, problems


def _option(word: str) -> tuple[str, str]:
    """Name and value; no name if it is not an option. `.wide` is a class and `#net` a name, as in attribute lists."""
    if pair := _PAIR.fullmatch(word):
        value = pair["value"]
        is_quoted = len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]
        return pair["name"].lower(), value[1:-1] if is_quoted else value
    if len(word) > 1 and word[0] in ".#":
        return "class" if word[0] == "." else "name", word[1:]
    return "", ""


def _words(text: str) -> Iterator[str]:
    """Split at spaces and braces, not inside quotes and brackets; a value that ends with a comma goes on."""
    word, quote, depth = "", "", 0
    for char in text:
        if not quote and not depth and (char.isspace() or char in "{}"):
            if char.isspace() and "=" in word and word.rstrip().endswith((",", ";")):
                word += " "
            elif word:
                yield word.rstrip()
                word = ""
            continue
        word += char
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES and (depth or word in ("'", '"') or word[-2] in "= "):
            quote = char  # elsewhere it is an apostrophe
        else:
            depth = max(0, depth + (char in _OPENING) - (char in _CLOSING))
    if word:
        yield word.rstrip()
