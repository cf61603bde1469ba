"""The workflow files of the how-to pages, run step by step in a small project.

What runs is real but for what needs a network: the commands of each step run in a shell that stops at the first
error, on a machine of their own for each job, where `torchrecorder`, Sphinx, MkDocs and git are the real ones. `pip`
installs nothing: it checks that the extras exist, and what was not asked for, such as torch, cannot be imported. So a
step fails if its job does not install what it needs; that the index has a version for each Python is not tried.
`uses:` steps are not run: only their names, and what they are given, are compared. What `gh` and `curl` would send is
looked at, and sent nowhere.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.blocks import ROOT, blocks
from tests.docs.project import Machine, Project

pytestmark = pytest.mark.site

ACTIONS = {
    "actions/cache@v4": {"path", "key", "restore-keys"},
    "actions/checkout@v4": {"fetch-depth"},
    "actions/deploy-pages@v4": set[str](),
    "actions/setup-python@v5": {"python-version"},
    "actions/upload-pages-artifact@v4": {"path"},
}
"""What steps may use, and what each may be given."""
WORKFLOWS = {
    (block.page, block.file, block.remark): block
    for page in sorted((ROOT / "docs" / "howto").glob("*.md"))
    for block in blocks(f"howto/{page.name}")
    if block.language == "yaml" and block.file.startswith((".github", ".gitlab", ".pre-commit", ".readthedocs"))
}
COMMENT = "<!-- torchrecorder: pkg.Net shape=1,3,32,32 -->\n<!-- /torchrecorder -->\n"
VARIABLES = {
    "GITHUB_BASE_REF": "main",
    "CI_COMMIT_BRANCH": "wider",
    "CI_MERGE_REQUEST_DIFF_BASE_SHA": "origin/main",
    "CI_API_V4_URL": "https://gitlab.example/api/v4",
    "CI_MERGE_REQUEST_PROJECT_ID": "7",
    "CI_MERGE_REQUEST_IID": "3",
    "COMMENT_TOKEN": "secret",
}
EXPRESSIONS = {"${{ github.token }}": "secret", "${{ github.event.number }}": "3"}


def workflow(page: str, file: str, remark: str = "") -> Any:
    return yaml.safe_load(WORKFLOWS[f"howto/{page}.md", file, remark].text)


def run(machine: Machine, script: str, variables: Mapping[str, str] = {}) -> str:
    given = {name: EXPRESSIONS.get(value, value) for name, value in variables.items()}
    done = machine.run(script, **VARIABLES, **given)
    assert done.returncode == 0, f"{script}\n{done.stdout}"
    return done.stdout


def run_job(project: Project, job: Mapping[str, Any]) -> Machine:
    """Run the steps of a job of GitHub Actions on a machine of its own; it has Python if it asks for it."""
    machine = project.machine()
    for step in job["steps"]:
        if "run" in step:
            run(machine, step["run"], step.get("env", {}))
            continue
        assert set(step.get("with", {})) <= ACTIONS[step["uses"]]
        assert step.get("with", {}).get("python-version", "3.12") in python_versions()
    assert any(step.get("uses", "").startswith("actions/checkout") for step in job["steps"])
    return machine


def python_versions() -> set[str]:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    return {it.rpartition(" ")[2] for it in classifiers if re.search(r":: 3\.\d+$", it)}


def with_steps(job: Mapping[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    """A job with other steps in the place of those with the same names."""
    by_name = {step["name"]: step for step in others}
    assert set(by_name) <= {step.get("name") for step in job["steps"]}
    return {**job, "steps": [by_name.get(step.get("name"), step) for step in job["steps"]]}


@pytest.mark.parametrize("remark", ["", "with MkDocs"])
def test_github_builds_and_keeps_recordings(remark: str, project: Project) -> None:
    page, file = "github-actions", ".github/workflows/docs.yml"
    jobs = workflow(page, file)["jobs"]
    job = with_steps(jobs["build"], workflow(page, file, remark)) if remark else jobs["build"]
    uses = {step["uses"].partition("@")[0]: step.get("with", {}) for step in job["steps"] if "uses" in step}
    kept, site = uses["actions/cache"]["path"], uses["actions/upload-pages-artifact"]["path"]
    run_job(project, job)
    assert "<svg" in (project.folder / site / "index.html").read_text(encoding="utf-8")
    project.next_checkout(keeps=kept)
    (build,) = (step["run"] for step in job["steps"] if step.get("name") == "Build")
    assert "torchrecorder: recording" not in run(project.machine(".[docs]"), build)
    assert {step["uses"] for step in jobs["publish"]["steps"]} <= set(ACTIONS)
    assert jobs["publish"]["needs"] == "build"


def test_github_finds_pictures_that_no_longer_show_the_model(project: Project) -> None:
    project.write("README.md", COMMENT)
    run(project.machine(".[docs]"), "torchrecorder update")
    job = workflow("pictures-in-files", ".github/workflows/pictures.yml")["jobs"]["check"]
    run_job(project, job)
    project.edit(32)
    with pytest.raises(AssertionError, match=r"STALE +README\.md:1: pkg\.Net: pkg/__init__\.py"):
        run_job(project, job)


def test_pre_commit_checks_pictures_in_files(project: Project) -> None:
    (ours,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (repo,) = workflow("pre-commit", ".pre-commit-config.yaml", "for pictures in files")["repos"]
    (hook,) = repo["hooks"]
    script = " ".join((ours["entry"], *hook["args"]))
    project.write("README.md", COMMENT)
    run(project.machine(".[docs]"), "torchrecorder update")
    machine = project.machine("torchrecorder-docs")
    assert "1 picture, all fresh" in run(machine, script)
    project.edit(32)
    with pytest.raises(AssertionError, match="STALE"):
        run(machine, script)


def test_github_finds_what_is_out_of_date(committed: Project) -> None:
    job = workflow("github-actions", ".github/workflows/diagrams.yml")["jobs"]["check"]
    run_job(committed, job)
    committed.edit(32)
    with pytest.raises(AssertionError, match=r"STALE +pkg\.Net: pkg/__init__\.py"):
        run_job(committed, job)


def test_github_records_on_request(committed: Project, tmp_path: Path) -> None:
    committed.edit(32)
    remote = tmp_path / "remote"
    committed.git("commit -am wider-still", f"init --bare {remote}", f"remote add origin {remote}")
    committed.git("push --set-upstream origin wider")
    job = workflow("github-actions", ".github/workflows/record.yml")["jobs"]["record"]
    for _ in range(2):  # the second finds nothing to record
        run_job(committed, job)
        log = run(committed.machine(), "git log --format=%s%an origin/wider; git status --porcelain")
        assert log.splitlines()[:2] == ["Record the diagrams anewgithub-actions[bot]", "wider-stillA"]


def test_github_comments_what_changes(committed: Project) -> None:
    machine = run_job(committed, workflow("pull-requests", ".github/workflows/models.yml")["jobs"]["diff"])
    command, *rest = machine.sent.splitlines()
    assert (command, rest[:2]) == ("pr", ["comment", "3"])
    assert "| parameters |" in machine.sent


def test_gitlab(committed: Project) -> None:
    jobs = workflow("gitlab", ".gitlab-ci.yml")
    assert {"python:" + version for version in python_versions()} >= {jobs.pop("image")}
    machines = {}
    for name, job in jobs.items():
        assert set(job) <= {"script", "cache", "artifacts", "rules", "variables"}
        machines[name] = committed.machine()
        output = [run(machines[name], line) for line in job["script"]]
        assert "STALE" not in "".join(output)
    assert "<svg" in (committed.folder / "public/index.html").read_text(encoding="utf-8")
    assert (committed.folder / jobs["pages"]["cache"]["paths"][0]).is_dir()
    assert jobs["pages"]["artifacts"]["paths"] == ["public"]
    assert "/projects/7/merge_requests/3/notes" in machines["models"].sent
    assert "| parameters |" in machines["models"].sent


@pytest.mark.parametrize("remark", ["", "with MkDocs", "without torch"])
def test_read_the_docs(remark: str, committed: Project) -> None:
    """What Read the Docs runs for a file: the installs, then the tool with its warnings as errors."""
    file = workflow("read-the-docs", ".readthedocs.yaml", remark)
    assert file["version"] == 2
    assert file["build"]["tools"]["python"] in python_versions()
    machine = committed.machine()
    for block in blocks("howto/read-the-docs.md"):
        if block.file.endswith(".txt"):
            committed.write(block.file, block.text)
    for install in file["python"]["install"]:
        if "requirements" in install:
            lines = (committed.folder / install["requirements"]).read_text().splitlines()
            asked = [line for line in lines if not line.startswith("#")]
        else:
            asked = [f"{install['path']}[{','.join(install['extra_requirements'])}]"]
        run(machine, "pip install " + " ".join(f"'{it}'" for it in asked))
    ((tool, settings),) = ((name, file[name]) for name in ("sphinx", "mkdocs") if name in file)
    if tool == "sphinx":
        folder = Path(settings["configuration"]).parent
        run(machine, f"sphinx-build -T -W --keep-going -b html -d _build/doctrees {folder} out")
    else:
        run(machine, f"mkdocs build --clean --strict --site-dir out --config-file {settings['configuration']}")
    assert settings["fail_on_warning"] is True
    assert "<svg" in (committed.folder / "out/index.html").read_text(encoding="utf-8")


def test_pre_commit_checks(committed: Project) -> None:
    (ours,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (repo,) = workflow("pre-commit", ".pre-commit-config.yaml")["repos"]
    (hook,) = repo["hooks"]
    assert hook["id"] == ours["id"]
    script = " ".join((ours["entry"], *hook["args"]))
    machine = committed.machine("torchrecorder-docs", *hook["additional_dependencies"])
    assert "all fresh" in run(machine, script)
    committed.edit(32)
    with pytest.raises(AssertionError, match="STALE"):
        run(machine, script)


def test_pre_commit_records(committed: Project) -> None:
    (repo,) = workflow("pre-commit", ".pre-commit-config.yaml", "which records")["repos"]
    (hook,) = repo["hooks"]
    assert (hook["language"], hook["pass_filenames"]) == ("system", False)
    changed = run(committed.machine(), "git diff --name-only HEAD~1 HEAD").splitlines()
    assert [name for name in changed if re.search(hook["files"], name)] == ["src/pkg/__init__.py"]
    committed.edit(32)
    machine = committed.machine(".[docs]")
    run(machine, hook["entry"])
    assert "diagrams/" in run(machine, "git status --porcelain")


def test_every_workflow_is_run_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for block in WORKFLOWS.values():
        assert f'"{block.file}"' in text, f"{block.page}:{block.line}"
        assert f'"{block.remark}"' in text or not block.remark, f"{block.page}:{block.line}"


def test_a_step_that_cannot_work_is_found(project: Project) -> None:
    job: dict[str, Any] = {"steps": [{"uses": "actions/checkout@v4"}]}
    for script, said in [
        ("pip install 'torchrecorder-docs[shpinx]'", "torchrecorder-docs has no extra shpinx"),
        ("sphinx-build docs out", "sphinx-build: command not found"),
        ("pip install 'torchrecorder-docs[sphinx]' furo\nsphinx-build -W docs out", "torch is not installed"),
        ("pip install '.[dcos]'", "pkg has no extra dcos"),
    ]:
        with pytest.raises(AssertionError, match=re.escape(said)):
            run_job(project, {"steps": [*job["steps"], {"run": script}]})
