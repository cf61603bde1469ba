"""`recorder: classic` with `theme: classic`: the picture of torchrecorder 1.0.3, in a page of MkDocs."""

from __future__ import annotations

import re

from tests.mkdocs_ext.site import Site

PAGE = """
# Classic

```torchrecorder
nets.Net
:shape: 4,3
:recorder: classic
:theme: classic
:depth: 1
```

```torchrecorder nets.Mismatch
shape: 1,3
recorder: classic
```
"""


def test_the_fence_draws_what_1_0_3_would_have_drawn(site: Site) -> None:
    site.write("index.md", PAGE)
    built = site.build()
    html = built.page("index.html")
    svg, until_it_failed = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    painted = re.findall(r'<g class="\w+"[^>]*><\w+[^>]* fill="(#\w{6})".*?<text[^>]*>([^<]*)</text>', svg)
    assert sorted(painted) == [
        ("#add8e6", "Input"),
        ("#add8e6", "Output"),
        ("#add8e6", "Tensor-2"),
        ("#d3d3d3", "first"),
        ("#d3d3d3", "second"),
    ]
    assert ">(Linear)</text>" in svg
    assert "wide" in until_it_failed
    (warning,) = built.warnings
    assert "failed in layer narrow (Linear)" in warning
