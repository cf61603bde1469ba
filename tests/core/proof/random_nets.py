"""Source of small random nets by a seed: sums, joins, parts, writes in place, stacks of almost equal blocks, caches."""

from __future__ import annotations

from random import Random

_STEPS = (
    ("{v} = {a} + {b}",),
    ("{v} = {a} * {b}",),
    ("{v}a, {v}b = {a}.chunk(2, -1)", "{v} = torch.cat([{v}b, {v}a * 2], -1)"),
    ("{v} = {a} * 1.5", "{v} += {b}"),
    ("{v} = {a}.clone()", "{v}[:, :4] = {b}[:, 4:]"),
    ("{v} = {a} - 0.5", "{v}.tanh_()"),
    ("{v} = torch.softmax({a} @ {b}.transpose(-1, -2), -1) @ {b}",),
    ("{v} = torch.where({a} > 0, {a}, {b} * 0.1)",),
)
_LAYERS = (
    ("nn.Linear(8, 8)", "{v} = self.{layer}({a})"),
    ("nn.Linear(8, 8)", "{v} = self.{layer}({a}).relu()"),
    ("nn.Linear(16, 8)", "{v} = self.{layer}(torch.cat([{a}, {b}], -1))"),
    ("nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True), nn.Linear(16, 8))", "{v} = self.{layer}({a})"),
)
_OF_LIST = ("sum({list})", "torch.stack({list}).sum(0)", "{list}[0] + {list}[-1]", "torch.cat({list}, -1)[..., :8]")


class _Forward:
    def __init__(self, random: Random, names: list[str], at: str) -> None:
        self.random, self.names, self.at = random, [*names], at
        self.layers: list[str] = []
        self.lines: list[str] = []

    def new(self) -> str:
        return f"v{self.at}{len(self.names)}"

    def step(self) -> None:
        values = {"v": self.new(), "a": self.random.choice(self.names[-3:]), "b": self.random.choice(self.names)}
        if self.random.random() < 0.4:
            layer, line = self.random.choice(_LAYERS)
            values["layer"] = f"l{len(self.layers)}"
            self.layers.append(f"self.{values['layer']} = {layer}")
            self.lines.append(line.format(**values))
        else:
            self.lines += [line.format(**values) for line in self.random.choice(_STEPS)]
        self.names.append(values["v"])

    def stack(self, kind: str, *, gives_two: bool) -> None:
        random, n, home, x = self.random, self.random.randint(1, 4), f"m{len(self.layers)}", self.new()
        blocks = [f"{kind}({random.random() < 0.7}, {random.random() < 0.7})" for _ in range(n)]
        self.layers.append(f"self.{home} = nn.ModuleList([{', '.join(blocks)}])")
        start, other, results = random.choice(self.names[-3:]), random.choice(self.names), f"{x}s"
        self.lines += [f"{x} = {x}w = {start}", f"{results} = []", f"for i, block in enumerate(self.{home}):"]
        self.lines.append(f"    {x}, {x}w = block({x})" if gives_two else f"    {x} = block({x})")
        self.lines += [f"    {x} = {x} + {other}"] if random.random() < 0.3 else []
        self.lines += [f"    if i % 2: {x} = {x}.relu()"] if random.random() < 0.2 else []
        self.lines.append(f"    {results}.append({x})")
        self.lines.append(f"{x}l = {random.choice(_OF_LIST).format(list=results)}")
        self.lines.append(f"{x}k = self.{home}[{random.randrange(n)}].kept + 0.5")
        self.names += random.sample([x, f"{x}w", f"{x}l", f"{x}k"], random.randint(1, 3))


def source(seed: int) -> str:
    """Text of a module with a class `Net` of two inputs of 3×8."""
    random = Random(seed)
    text = ["import torch", "from torch import nn"]
    kinds: dict[str, bool] = {}
    for name in ("Block0", "Block1")[: random.randint(1, 2)]:
        body = _Forward(random, ["x"], "b")
        for _ in range(random.randint(2, 5)):
            body.step()
        last, kinds[name] = body.names[-1], random.random() < 0.4
        body.lines += [f"if self.acts: {last} = {last}.sigmoid()", f"if self.skips: {last} = {last} + x"]
        body.lines.append(f"self.kept = {random.choice(body.names)}")
        body.lines.append(f"return {last}" + (f", {random.choice(body.names)} * 1.5" if kinds[name] else ""))
        text += _class(name, "acts, skips", "x", ["self.acts, self.skips = acts, skips", *body.layers], body.lines)
    net = _Forward(random, ["a0", "a1"], "")
    for _ in range(random.randint(3, 6)):
        kind = random.choice([*kinds])
        net.stack(kind, gives_two=kinds[kind]) if random.random() < 0.5 else net.step()
    given = dict.fromkeys([net.names[-1], *random.sample(net.names[2:], random.randint(1, min(3, len(net.names) - 2)))])
    net.lines.append(f"return {', '.join(f'{name} * 1.0' if name == 'x' else name for name in given)},")
    return "\n".join((*text, *_class("Net", "", "a0, a1", net.layers, net.lines)))


def _class(name: str, settings: str, inputs: str, layers: list[str], forward: list[str]) -> list[str]:
    head = [f"class {name}(nn.Module):", f"    def __init__(self, {settings}):", "        super().__init__()"]
    return [
        *head,
        *(f"        {line}" for line in layers),
        f"    def forward(self, {inputs}):",
        *(f"        {line}" for line in forward),
    ]
