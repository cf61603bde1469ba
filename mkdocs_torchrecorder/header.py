"""Target and options from a fence, above all from the words behind `torchrecorder` in its first line.

Those are a model, `pkg.Net` or `pkg.Net(width=64, depth=2)`, options, `depth=2` or `shape="1,3; 1,8"`, and attribute
lists, `{.wide #net depth=2}`, in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mkdocs_torchrecorder.fence import Fence
from torchrecorder.request import Body, read_body

_PAIR = re.compile(r"(?P<name>[A-Za-z][\w-]*)=(?P<value>.*)", re.ASCII | re.DOTALL)
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "\"'"


def read_fence(fence: Fence) -> Body:
    """What a fence says, in its first line and below."""
    header = read_header(fence.header)
    body = read_body(fence.body.split("\n"), header.target, header.options)
    problems = [*header.problems, *body.problems]
    named = body.options.pop("target", None)
    if named and body.target:
        problems.append(f"two models are named, {body.target} and {named}")
    return Body(body.target or named or "", body.options, tuple(problems))


def read_header(text: str) -> Body:
    """What the words say; the body of the fence may say more."""
    target, problems = "", []
    options: dict[str, str | None] = {}
    for word in _words(text):
        name, value = _option(word)
        if name in options and name != "class":
            problems.append(f"{name} is given twice")
        if name:
            options[name] = f"{options[name]} {value}" if name in options and name == "class" else value
        elif target:
            problems.append(f"cannot read {word!r}: the model is {target}, and an option is written `depth=2`")
        else:
            target = word
    return Body(target, options, tuple(problems))


def _option(word: str) -> tuple[str, str]:
    """Name and value; no name if the word is no option. `.wide` is a class and `#net` a name, as in attribute lists."""
    if pair := _PAIR.fullmatch(word):
        return pair["name"].lower(), _unquoted(pair["value"])
    if len(word) > 1 and word[0] in ".#":
        return "class" if word[0] == "." else "name", word[1:]
    return "", ""


def _words(text: str) -> Iterator[str]:
    """Split at spaces, and at the braces of an attribute list; not inside quotes and brackets."""
    word, quote, depth = "", "", 0
    for sign in text:
        if not quote and not depth and (sign.isspace() or sign in "{}"):
            if word:
                yield word
            word = ""
            continue
        word += sign
        if quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES and (depth or word in ("'", '"') or word[-2] == "="):
            quote = sign  # elsewhere it is an apostrophe
        else:
            depth = max(0, depth + (sign in _OPENING) - (sign in _CLOSING))
    if word:
        yield word


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] in _QUOTES and text[0] == text[-1]
    return text[1:-1] if quoted else text
