"""A page of MyST-NB: the directive beside a cell that draws, in one build."""

from __future__ import annotations

import pytest

from tests.sphinx_ext.project import Project

pytestmark = pytest.mark.site

PAGE = """\
    ---
    file_format: mystnb
    kernelspec: {name: python3, display_name: Python 3}
    ---

    # Net

    ```{torchrecorder} nets.Net
    :shape: 1,3
    :caption: By the **directive**.
    ```

    ```{code-cell} ipython3
    import sys
    sys.path.insert(0, "../src")
    import torchrecorder
    from nets import Net
    torchrecorder.draw(Net(width=16), (1, 3))
    ```
"""


def test_the_directive_and_a_cell_draw_in_one_page(project: Project) -> None:
    pytest.importorskip("myst_nb", reason="MyST-NB is installed for marked tests")
    project.configure('extensions.append("myst_nb")\nnb_execution_mode = "force"\nnb_execution_raise_on_error = True')
    project.write("docs/index.md", PAGE)
    built = project.build("html", "-W")  # a kernel says on its own what it thinks of its transport
    assert built.status == 0, built.warnings
    page = built.text("index.html")
    directive, _, cell = page.partition("cell_output")
    assert "<strong>directive</strong>" in directive
    assert "3→8" in directive
    assert "3→16" in cell
    assert cell.count("<svg") >= 1
