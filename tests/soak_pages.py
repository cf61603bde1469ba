"""Text of pages and of models that tries to run commands, or to bring a script into a page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import torch
from torch import nn

from tests.saved_models import Attack, changed, edited, exported_to, saved, with_pickle

COMMANDS = (
    "os.system('touch {}')",
    "subprocess.run(['touch', '{}'])",
    "subprocess.Popen(['touch', '{}'])",
    "subprocess.check_output(['touch', '{}'])",
    "builtins.exec(\"open('{}', 'w')\")",
    "builtins.eval(\"open('{}', 'w')\")",
    "builtins.open('{}', 'w')",
    "pathlib.Path.touch('{}')",
    "os.mkdir('{}')",
    "shutil.copy('/etc/hostname', '{}')",
    "runpy.run_path('{}.py')",
    "pty.spawn(['touch', '{}'])",
    "torch.os.system('touch {}')",
    "torch.save(1, '{}')",
    "torch.utils.cpp_extension.subprocess.run(['touch', '{}'])",
    "soak_texts.os.system('touch {}')",
    "soak_texts.alias('touch {}')",
    "soak_texts.Net(os.system('touch {}'))",
    "soak_texts.Net.__init__.__globals__['os'].system('touch {}')",
    "__import__('os').system('touch {}')",
)
"""As a target, a value of `inputs`, and a `styler`; `{}` is a file that must not appear."""

INSTALLED = {
    "code that comes with a model": (
        "transformers.AutoModel.from_pretrained('{folder}/evil', trust_remote_code=True)",
        "transformers.AutoModel.from_pretrained('{folder}/evil', None, trust_remote_code='yes')",
        "transformers.AutoModelForCausalLM.from_pretrained('{folder}/evil', trust_remote_code=True)",
        "transformers.AutoConfig.from_pretrained('{folder}/evil', trust_remote_code=True)",
        "transformers.AutoTokenizer.from_pretrained('{folder}/evil', trust_remote_code=True)",
        "transformers.AutoModel.from_config('{folder}/evil', trust_remote_code=True)",
        "transformers.pipeline('fill-mask', '{folder}/evil', trust_remote_code=True)",
        "transformers.dynamic_module_utils.get_class_from_dynamic_module('net.Model', '{folder}/evil')",
        "transformers.BertModel.from_pretrained('{folder}/evil', trust_remote_code=True)",
        "torch.hub.load('{folder}/evil', 'net', source='local')",
    ),
    "shells, downloaders and writers of packages": (
        "soak_texts.shell.sync('{}', 's3://evil')",
        "soak_texts.sync('{}')",
        "soak_shell.sync('{}')",
        "transformers.utils.hub.cached_file('evil/repo', 'config.json', cache_dir='{}')",
        "huggingface_hub.snapshot_download('evil/repo', local_dir='{}')",
        "huggingface_hub.upload_folder(repo_id='evil', folder_path='{}')",
        "fsspec.open('{}', 'w')",
        "fsspec.filesystem('file').touch('{}')",
        "numpy.savetxt('{}', [1])",
        "numpy.lib.npyio.save('{}', [1])",
        "torch.utils.collect_env.run('touch {}')",
        "torch.utils.cpp_extension.load('x', '{folder}/evil.cpp')",
        "torch.classes.load_library('{folder}/evil.so')",
        "torch.ops.load_library('{folder}/evil.so')",
        "pip.main(['download', '-d', '{}', 'x'])",
        "sphinx.cmd.build.main(['-M', 'html', '.', '{}'])",
        "yaml.unsafe_load('!!python/object/apply:os.mkdir [\"{}\"]')",
        "pytest.main(['--basetemp', '{}'])",
        "numpy.f2py.main(['-c', '{}'])",
        "torch.jit.save(1, '{}')",
    ),
    "other ways to the same function": (
        "soak_texts.partial('{}')",
        "soak_texts.bound()",
        "soak_texts.method('{}')",
        "soak_texts.cached('{}')",
        "soak_texts.Net.shell('{}')",
        "soak_texts.Net.sync('{}')",
        "soak_texts.Child.from_file('{}')",
        "soak_texts.shell.Net.from_file('{}')",
        "soak_texts.shell.Net.from_file.__func__(None, '{}')",
        "soak_texts.shell.Net.forward.__call__('{}')",
        "soak_texts.shell.__dict__.get('sync')",
        "soak_texts.shell.os.system('touch {}')",
        "soak_texts:os.system('touch {}')",
        "soak_texts.Net.__base__.__subclasses__()",
        "soak_texts.Net.__init__.__builtins__.get('exec')",
        "soak_texts.alias.__call__('touch {}')",
        "soak_texts.lazy.system('touch {}')",
        "soak_texts.Popen('touch {}', shell=True)",
        "soak_texts.Tool('{}')",
        "operator.methodcaller('system', 'touch {}')",
    ),
    "arguments of classes and builders": (
        "soak_texts.shell.Net('{}', trust_remote_code=True)",
        "soak_texts.shell.Net(None, True)",
        'soak_texts.shell.Net(config=dict(act=\'open("{}", "w")\'))',
        "soak_texts.shell.Net(config={{'act': 'open(\"{}\", \"w\")'}})",
        "soak_texts.shell.Net(config={{'act': '[open (x, \"w\") for x in [\"{}\"]]'}})",
        "soak_texts.shell.Net(config={{'act': ['nn.ReLU', {{'_target_': 'os.mkdir', 'path': '{}'}}]}})",
        "soak_texts.shell.Net(weights='{folder}/evil.pt')",
        "soak_texts.shell.Net(weights='{folder}/evil.bin')",
        "soak_texts.shell.Net(weights='https://evil.example/net.pt')",
        "soak_texts.shell.Net(weights='~/../../{folder}/evil.pt')",
        "soak_texts.shell.Net(weights=b'{folder}/evil.pt')",
        "soak_texts.shell.Net(weights=(('{folder}/evil.pt',),))",
        "soak_texts.shell.Net(weights='{folder}/link')",
        "torch.nn.Linear(2, os.system('touch {}'))",
        "torch.nn.Linear(2, (lambda: __import__('os').mkdir('{}'))())",
        "torch.nn.Linear(*[__import__('os').mkdir('{}')])",
        "torch.nn.Linear(2, x := __import__('os').mkdir('{}'))",
        "torch.nn.Linear(2, f\"{{open('{}', 'w')}}\")",
        "torch.nn.Linear(2, 2)(open('{}', 'w'))",
        "torch.nn.Linear(2, 2); __import__('os').mkdir('{}')",
    ),
    "saved models": (
        *(
            f"torch.export.load('{{folder}}/{name}.pt2')"
            for name in ("pickle", "sample", "size", "guard", "call", "name")
        ),
        "torch.export.load(f='{folder}/guard.pt2')",
        "torch.jit.load('{folder}/evil.pt')",
        "torch.jit.load('{folder}/writes.pt')",
        "torch.export.load('{folder}/link.pt2')",
        "torch.load('{folder}/evil.pt', weights_only=False)",
        "torch.export.pt2_archive.load_pt2('{folder}/guard.pt2')",
        "soak_texts.load_guard()",
        "soak_texts.load_guard",
    ),
}
"""As targets, by what they try."""

TEXTS = (
    "<script>soak()</script>",
    '"><img src=x onerror=soak()>',
    "' onload='soak()",
    "</title></svg><script>soak()</script>",
    "javascript:soak()",
    "<svg/onload=soak()>",
    "]]><script>soak()</script>",
    "&lt;script&gt;soak()&lt;/script&gt;",
    "<style>*{display:none}/*soak*/</style>",
    "<iframe src='javascript:soak()'></iframe>",
)
OPTIONS = ("caption", "alt", "name", "class", "width", "align", "shape", "link")
MODEL = '''import os
import torch
from torch import nn
alias = os.system

class Net(nn.Module):
    """TEXT"""
    def __init__(self):
        super().__init__()
        self.add_module(TEXT.replace(".", ""), nn.ReLU())
        self.add_module("act", type(TEXT, (nn.ReLU,), {"extra_repr": lambda self: TEXT})())
    def forward(self, x):
        return self.act([*self.children()][0](x))

class Fails(Net):
    def forward(self, x):
        raise ValueError(TEXT)
'''


EVIL = """import os
from transformers import PretrainedConfig, PreTrainedModel
os.mkdir(r"{}")
class Config(PretrainedConfig):
    model_type = "evil"
class Model(PreTrainedModel):
    config_class = Config
"""
SHELL = """import os
from torch import nn

def sync(local, remote=""):
    os.system(f"touch {local}")

class Tool:
    def __init__(self, file):
        sync(file)

class Net(nn.Module):
    def __init__(self, weights=None, trust_remote_code=False, config=None):
        super().__init__()
        if trust_remote_code:
            os.mkdir(TOUCHED)
        for text in (config or {}).values():
            eval(text) if isinstance(text, str) else os.mkdir(text[1]["path"])
        if weights is not None:
            import torch
            name = str(weights[0][0] if isinstance(weights, tuple) else os.fsdecode(weights))
            torch.load(os.path.expanduser(name), weights_only=False)
    @classmethod
    def from_file(cls, file):
        sync(file)
        return cls()
    def forward(self, x):
        return x
"""
OTHER_WAYS = """
import functools, sys, types
from pathlib import Path
from subprocess import Popen
FOLDER = Path(__file__).parent
sys.path.append(str(FOLDER / "site-packages"))
import soak_shell as shell
from soak_shell import Tool, sync
partial = functools.partial(shell.sync, remote="x")
bound = types.MethodType(shell.sync, TOUCHED)
method = shell.Net().from_file
cached = functools.lru_cache(shell.sync)
lazy = types.SimpleNamespace(system=os.system)
load_guard = functools.partial(torch.export.load, str(FOLDER / "guard.pt2"))
Net.shell = staticmethod(shell.sync)
Net.sync = classmethod(shell.sync)
class Child(shell.Net):
    pass
"""


def requests(file: Path, folder: Path) -> list[tuple[str, dict[str, str]]]:
    """Targets with their options: each is one injection."""
    commands = [command.format(file) for command in COMMANDS]
    found: list[tuple[str, dict[str, str]]] = [(command, {}) for command in commands]
    found += [(text.format(file, folder=folder), {}) for texts in INSTALLED.values() for text in texts]
    for option in ("inputs", "styler"):
        found += [("soak_texts.Net", {"shape": "1,3", option: command}) for command in commands]
    for option in OPTIONS:
        found += [("soak_models0.Net", {"shape": "1,3", option: text}) for text in TEXTS]
    for number in range(len(TEXTS)):
        found += [(f"soak_models{number}.{name}", {"shape": "1,3"}) for name in ("Net", "Fails")]
    return found


def write_texts(folder: Path, file: Path) -> None:
    """Write the models whose names and words are texts of that kind, and what else would make the file."""
    own = MODEL.replace("TEXT", '"x"').replace('""""x""""', "") + OTHER_WAYS
    (folder / "soak_texts.py").write_text(own.replace("TOUCHED", repr(str(file))))
    _write_installed(folder, file)
    for number, text in enumerate(TEXTS):
        code = MODEL.replace('"""TEXT"""', f"__doc__ = {text!r}").replace("TEXT", repr(text))
        (folder / f"soak_models{number}.py").write_text(code)


def _write_installed(folder: Path, file: Path) -> None:
    evil, installed = folder / "evil", folder / "site-packages"
    for new in (evil, installed):
        new.mkdir()
    (installed / "soak_shell.py").write_text(SHELL.replace("TOUCHED", repr(str(file))))
    names = {"AutoConfig": "net.Config", "AutoModel": "net.Model", "AutoModelForCausalLM": "net.Model"}
    (evil / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": names}))
    (evil / "net.py").write_text(EVIL.format(file))
    (evil / "hubconf.py").write_text(EVIL.format(file))
    for name in ("evil.pt", "evil.bin"):
        (folder / name).write_bytes(saved(Attack(file)))
    (folder / "link").symlink_to("evil.pt")
    good = exported_to(folder / "good.pt2")
    with_pickle(good, folder / "pickle.pt2", saved(Attack(file)))
    attack = saved(Attack(file))
    changed(good, folder / "sample.pt2", lambda name, data: attack if "sample_inputs" in name else data)
    command = f"__import__('os').mkdir({str(file)!r})"
    for name, edit in {"size": "a size", "guard": "a guard", "call": "a target", "name": "an argument"}.items():
        edited(good, folder / f"{name}.pt2", edit, command)
    (folder / "link.pt2").symlink_to("guard.pt2")
    torch.jit.save(torch.jit.script(Writes()), folder / "writes.pt")


class Writes(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.save(x, "soak_written.pt")
        return x


LINKS = ("href", "xlink:href", "src", "action", "formaction", "data")


class Scripts(HTMLParser):
    """What of ours would run in a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._tag = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        for name, value in attrs:
            is_link = name in LINKS and (value or "").strip().lower().startswith("javascript:")
            if "soak(" in (value or "") and (name.startswith("on") or is_link):
                self.found.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag in ("script", "style") and "soak" in data:
            self.found.append(f"{self._tag}: {data[:100]}")
