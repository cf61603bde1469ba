"""What the index shows of the project: its addresses, and the README with links that lead to them from anywhere.

The address of the repository is set once, as `repository` under `[tool.hatch.metadata.hooks.custom]` in pyproject.toml.
Without one nothing is invented: the links of the README become plain text, and its pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PAGES = {
    "Documentation": "blob/HEAD/docs/index.md",
    "Changelog": "blob/HEAD/CHANGELOG.md",
    "Issues": "issues",
    "Source": "",
}
_LINK = re.compile(r"\[([^]]+)\]\((?!https?:|#)([^)]+)\)")
_PICTURE = re.compile(r'(src|srcset)="(?!https?:)([^"]+)"')
_PICTURE_BLOCK = re.compile(r"<picture>.*?</picture>\n*", re.DOTALL)


class Metadata(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        repository = str(self.config.get("repository", "")).rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, repository)}
        if repository:
            metadata["urls"] = {name: f"{repository}/{page}".rstrip("/") for name, page in _PAGES.items()}


def absolute(text: str, repository: str) -> str:
    """A text of Markdown with relative links and pictures made absolute, or left out where there is no address."""
    if not repository:
        return _LINK.sub(r"\1", _PICTURE_BLOCK.sub("", text))
    text = _LINK.sub(rf"[\1]({repository}/blob/HEAD/\2)", text)
    return _PICTURE.sub(rf'\1="{repository}/raw/HEAD/\2"', text)
