"""Models of other people's libraries recorded with no input given: `nox -s bench -- zoo [LIBRARY …] [NAME …]`.

A NAME is a part of one. Nothing here is a test, but for `sample`: if one of its models is not recorded, the status says
so. Each library has a process of its own (`host.py`), which forks for each model. What came of each model goes into a
JSON file, `to=FILE`; `against=FILE` says what has changed since an earlier one; `every=8` takes one model in eight,
`graphs=FOLDER` keeps the Graphs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SAMPLE = HERE / "sample.txt"
"""Models of libraries that are quick to install, all of which have to be recorded."""
LIBRARIES = (
    *("torchvision", "timm", "segmentation_models_pytorch", "kornia", "transformers", "x_transformers"),
    *("diffusers", "torch_geometric", "monai", "torchaudio", "speechbrain"),
)

Result = dict[str, Any]


def main() -> int:
    """Run what the arguments choose, print the tables, and say by the status whether a Graph was wrong."""
    options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    chosen = SAMPLE.read_text(encoding="utf-8").split() if "sample" in words else []
    libraries = [word for word in words if word in LIBRARIES] or list(LIBRARIES)
    if chosen:
        libraries = list(dict.fromkeys(name.partition("/")[0] for name in chosen))
    names = chosen or [word for word in words if word not in LIBRARIES]
    results: dict[str, Result] = {}
    seconds: dict[str, float] = {}
    for library in libraries:
        start = time.monotonic()
        results |= _run(library, options.get("every", "1"), options.get("graphs", ""), names)
        seconds[library] = time.monotonic() - start
        Path(options.get("to", "zoo.json")).write_text(json.dumps(results, indent=1), encoding="utf-8")
    _print_failures(results)
    _print_table(results, seconds)
    if "against" in options:
        _print_changes(json.loads(Path(options["against"]).read_text(encoding="utf-8")), results)
    lost = [name for name in chosen if not results.get(name, {}).get("recorded")]
    if lost:
        print(f"of the sample, not recorded: {', '.join(lost)}")
    return bool(lost) or any(_is_wrong(result) for result in results.values())


def _run(library: str, every: str, folder: str, names: list[str]) -> dict[str, Result]:
    """What came of each model of a library; a host that dies is started again after the model that it died of."""
    command = [sys.executable, str(HERE / "host.py"), library, every, folder, *names]
    found: dict[str, Result] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        for line in host.stdout:
            result = json.loads(line)
            name = result.pop("name")
            if "skipped" in result:
                print(f"{library} is not there: {result['skipped']}", flush=True)
                continue
            found[name] = result
            print(f"{len(found):4} {name:58} {_said(result)}", flush=True)
    if host.returncode:
        print(f"{library}: its process ended with status {host.returncode}", flush=True)
    return found


def _said(result: Result) -> str:
    if not result["built"]:
        return f"not built: {result['reason'][:100]}"
    if not result["recorded"]:
        return f"FAILED after {result.get('record_s', '?')} s: {_kind(result)}"
    wrong = f" PROBLEMS {result['problems'][:2]}" if result["problems"] else ""
    replay = f", replay {result['replay']}" if "replay" in result else ""
    return f"{result['recorded']} in {result['record_s']} s{replay}{wrong}"


def _is_wrong(result: Result) -> bool:
    return bool(result.get("problems")) or not result.get("replay", "exact").startswith("exact")


def _print_failures(results: dict[str, Result]) -> None:
    print("\nNot recorded, though built:")
    for name, result in results.items():
        if result["built"] and not result["recorded"]:
            print(f"  {name}: {result['reason']}\n      {result.get('advice', '')}")
            for guess in result.get("tried", ())[:4]:
                print(f"      tried {guess}")
    for name, result in results.items():
        if _is_wrong(result):
            print(f"  WRONG {name}: {result['problems'][:3]} {result.get('replay', '')}")


_COLUMNS = (
    "tried",
    "network",
    "not built",
    "built",
    "recorded",
    "real",
    "fake",
    "bfloat16",
    "meta",
    "failed",
    "no answer",
    "replayed",
)


def _print_table(results: dict[str, Result], seconds: dict[str, float]) -> None:
    rows = {library: _counts(_of(results, library)) for library in seconds}
    rows["all"] = Counter()
    for library in seconds:
        rows["all"].update(rows[library])
    seconds = {**seconds, "all": sum(seconds.values())}
    print(f"\n{'library':28}" + "".join(f"{name:>10}" for name in _COLUMNS) + "   share   seconds")
    for library, row in rows.items():
        share = f"{row['recorded'] / row['built']:7.1%}" if row["built"] else "      -"
        print(f"{library:28}" + "".join(f"{row[name]:10}" for name in _COLUMNS) + f" {share} {seconds[library]:9.0f}")
    for library in seconds:
        reasons = Counter(
            _kind(result) for result in _of(results, library) if result["built"] and not result["recorded"]
        )
        for reason, count in reasons.most_common(3):
            print(f"{library}: {count} × {reason}")


def _of(results: dict[str, Result], library: str) -> list[Result]:
    return [result for name, result in results.items() if name.partition("/")[0] == library]


def _counts(results: list[Result]) -> Counter[str]:
    counts: Counter[str] = Counter(tried=len(results))
    for result in results:
        if not result["built"]:
            counts["network" if result.get("network") else "not built"] += 1
            continue
        counts["built"] += 1
        counts.update(["recorded", result["recorded"]] if result["recorded"] else ["failed"])
        is_said = result["reason"].startswith(("InputError", "ForwardError"))
        counts["no answer"] += not result["recorded"] and not is_said  # it crashed, hung, or raised what we never raise
        counts["replayed"] += result.get("replay", "").startswith("exact")
    return counts


def _kind(result: Result) -> str:
    """The reason of the first guess that was refused, without its numbers."""
    first = result["tried"][0].rpartition(": ")[2] if result.get("tried") else result["reason"]
    return re.sub(r"\d+", "N", first)[:90]


def _print_changes(before: dict[str, Result], now: dict[str, Result]) -> None:
    for name in sorted(before.keys() & now.keys()):
        was, is_now = before[name]["recorded"] or "not recorded", now[name]["recorded"] or "not recorded"
        if was != is_now:
            print(f"changed: {name} was {was}, is {is_now}")
    for what, names in (("gone", before.keys() - now.keys()), ("new", now.keys() - before.keys())):
        print(f"{len(names)} {what}" + f": {', '.join(sorted(names)[:5])}" * bool(names))


if __name__ == "__main__":
    sys.exit(main())
