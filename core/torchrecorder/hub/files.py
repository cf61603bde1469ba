"""Files of a repository on the hub, or of a folder laid out like one, and the commit that they are of."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchrecorder.errors import HubFailed
from torchrecorder.request.targets import HUB
from torchrecorder.trace import mentions
from torchrecorder.trace.ownership import folders_of_project

_TIMEOUT_S = 10.0
"""Seconds for one answer of the hub, which mostly takes a tenth of one: a build must not wait long for a picture."""
_MOST_BYTES = 4 << 20
"""Of a configuration; the longest that is known, with the names of 21,000 classes, has one and a half."""
_COMMIT = re.compile("[0-9a-f]{40}")
_SHORT = 7  # digits of a commit in a sentence, as git shows them


@dataclass(slots=True)
class Repository:
    """Where the configurations of one target are."""

    name: str
    """`owner/name`, or the path of a folder."""
    revision: str = ""
    """As the target names it."""
    inside: str = ""
    """Folder in it with a slash behind it, `unet/`."""
    folder: Path | None = None
    """None if it is on the hub."""
    commit: str = field(init=False, default="")
    """The commit that its files are of, once one was read."""
    _unreachable: HubFailed | None = field(init=False, default=None)

    @staticmethod
    def of(name: str, revision: str) -> Repository:
        """The place that a target names. Raises HubFailed if it is a folder, and that is not in the project."""
        if name.startswith((".", "/")):
            return Repository(name, folder=_folder(name))
        owner, *rest = name.split("/", 2)
        return Repository("/".join((owner, *rest[:1])), revision, f"{rest[1]}/" if len(rest) > 1 else "")

    @property
    def key(self) -> str:
        """The repository with the revision that is asked for."""
        return f"{self.name}@{self.revision}" if self.revision else self.name

    @property
    def target(self) -> str:
        return f"{HUB}:{self.key.replace(self.name, f'{self.name}/{self.inside}'.rstrip('/'), 1)}"

    def config(self, file: str) -> dict[str, Any] | None:
        """The JSON object in a file; None if there is no such file.

        Raises:
            HubFailed: The hub refuses to give it, or it is not a JSON object.
        """
        file = self.inside + file
        with mentions.searching() if self.folder is None else nullcontext():
            path = self._fetched(file) if self.folder is None else self.folder / file
            try:
                data = None if path is None else json.loads(path.read_bytes()[:_MOST_BYTES])
            except FileNotFoundError:
                return None
            except (OSError, ValueError, RecursionError) as error:
                raise self.failed(f"its {file} cannot be read: {type(error).__name__}: {error}") from error
        if data is not None and not isinstance(data, dict):
            raise self.failed(f"its {file} holds no JSON object")
        return data

    def lacks(self, *files: str) -> HubFailed:
        """The error of a repository without any of these files, as far as it could be asked."""
        names = " nor ".join(self.inside + file for file in files)
        return self._unreachable or self.failed(f"{self.key} has {'neither ' if len(files) > 1 else 'no '}{names}")

    def failed(self, reason: str, advice: str = "") -> HubFailed:
        return HubFailed(self.target, reason, advice)

    def _fetched(self, file: str) -> Path | None:
        """The file in the cache of the hub's library; a commit in it needs no hub."""
        hub = _library(self)
        wanted = self.commit or self.revision
        path = self._cached(hub, file, wanted) if _COMMIT.fullmatch(wanted) else None
        if path is not None or self._unreachable is not None:
            return path or self._cached(hub, file, wanted)
        try:
            # It is asked twice: the download would ask a hub that does not answer again and again, for minutes.
            hub.get_hf_file_metadata(hub.hf_hub_url(self.name, file, revision=wanted or None), timeout=_TIMEOUT_S)
            path = Path(hub.hf_hub_download(self.name, file, revision=wanted or None, etag_timeout=_TIMEOUT_S))
        except hub.errors.RemoteEntryNotFoundError:
            return None
        except Exception as error:
            if (refusal := _refusal(hub, self, error)) is not None:
                raise refusal from error
            self._unreachable = _unreachable(hub, self, error)
            return self._cached(hub, file, wanted)
        return self._noted(path, file)

    def _cached(self, hub: Any, file: str, revision: str) -> Path | None:
        found = hub.try_to_load_from_cache(self.name, file, revision=revision or None)
        return self._noted(Path(found), file) if isinstance(found, str) else None

    def _noted(self, path: Path, file: str) -> Path:
        # The folder of a snapshot is named by its commit, and a file lies as deep in it as in the repository.
        self.commit = path.parts[-2 - file.count("/")]
        mentions.commits[self.key] = self.commit
        mentions.looked_at.add(str(path))
        return path


def moved(commits: Mapping[str, str]) -> Iterator[str]:
    """Sentences on the repositories of a recording of which the hub has another commit now.

    Args:
        commits: As in a manifest, by repository and revision.

    Raises:
        HubFailed: The hub does not say.
    """
    for key, then in commits.items():
        name, _, revision = key.partition("@")
        if not _COMMIT.fullmatch(revision):
            asked = Repository(name, revision)
            hub = _library(asked)
            try:
                now = hub.HfApi().model_info(name, revision=revision or None, timeout=_TIMEOUT_S).sha
            except Exception as error:
                raise _refusal(hub, asked, error) or _unreachable(hub, asked, error) from error
            if now != then:
                yield f"{key} moved on the hub from commit {then[:_SHORT]} to {now[:_SHORT]}"


def _library(asked: Repository) -> Any:
    """The library `huggingface_hub`, which a build imports only for this."""
    try:
        import huggingface_hub
        import huggingface_hub.errors
    except ImportError as error:
        advice = 'pip install "torchrecorder-docs[hub]" where models are recorded'
        raise asked.failed(f"the hub's own library is missing: {error}", advice) from error
    return huggingface_hub


def _refusal(hub: Any, asked: Repository, error: Exception) -> HubFailed | None:
    """What the hub says against it; None if it said nothing."""
    errors, page = hub.errors, f"{hub.constants.ENDPOINT}/{asked.name}"
    if isinstance(error, errors.GatedRepoError):
        advice = f"accept its conditions at {page}, and set HF_TOKEN where models are recorded"
        return asked.failed("its repository is gated, and no token that may read it is set", advice)
    if isinstance(error, errors.RevisionNotFoundError):
        return asked.failed(f"{asked.name} has no revision {asked.revision!r}", f"{page}/commits lists its commits")
    if isinstance(error, errors.RepositoryNotFoundError):
        for kind in ("dataset", "space"):
            with suppress(Exception):
                hub.HfApi().repo_info(asked.name, repo_type=kind, timeout=_TIMEOUT_S)
                return asked.failed(f"{asked.name} is a {kind}, not a model")
        advice = "is it spelled as there? A private one needs HF_TOKEN where models are recorded"
        return asked.failed(f"{hub.constants.ENDPOINT} shows no model {asked.name}", advice)
    if isinstance(error, errors.HFValidationError):
        return asked.failed(f"{asked.name} is not a valid name of the hub")
    return None


def _unreachable(hub: Any, asked: Repository, error: Exception) -> HubFailed:
    said = str(error).partition("\n")[0]
    reason = f"its configuration is not on this machine, and {hub.constants.ENDPOINT} does not give it"
    return asked.failed(reason, f"{type(error).__name__}: {said}")


def _folder(name: str) -> Path:
    tops = [os.path.realpath(top) for top in folders_of_project()]
    places = [Path(os.path.realpath(os.path.join(top, name))) for top in (os.getcwd(), *tops)]
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        raise HubFailed(f"{HUB}:{name}", f"there is no folder {places[0]}")
    if not any(found.is_relative_to(top) for top in tops):
        advice = "name a folder around it in the setting `path`"
        raise HubFailed(f"{HUB}:{name}", f"{found} lies outside of the project", advice)
    return found
