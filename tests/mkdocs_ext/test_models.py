"""Tables and grids of models."""

from __future__ import annotations

import re

from markdown import Markdown

from mkdocs_torchrecorder import TorchRecorderExtension
from tests.mkdocs_ext.site import Site

PAGE = """
    # Models

    ```torchrecorder-models
    :columns: name picture parameters
    :shape: 1,3
    :name: all-models
    :caption: All the *models*

    nets.Net
    nets.Net title="Once more" depth=1
    nets.Nett
    ```

    ```{.torchrecorder-models as=grid}
    nets.Net shape=1,3 tags=small
    ```
    """
FIGURE = """
    # A net

    ```torchrecorder
    nets.Net
    :shape: 1,3
    :name: the net
    ```
    """


def test_tables_and_grids(site: Site) -> None:
    site.write("index.md", PAGE)
    site.write("more/net.md", FIGURE)
    built = site.build()
    assert [text.splitlines()[0] for text in built.warnings] == [
        "index.md:3: torchrecorder: cannot find nets.Nett: nets has no 'Nett'"
    ]
    page = built.page()
    rows = [re.sub(r"<.*?>", " ", row).split() for row in re.findall(r"<tr>.*?</tr>", page)]
    assert rows[0] == ["Model", "Picture", "Parameters"]
    assert [row[0] for row in rows[1:]] == ["Net", "Once", "nets.Nett"]
    assert 'id="all-models"' in page
    assert "All the <em>models</em>" in page
    assert page.count('href="more/net/#the-net"') == 6
    pictures = re.findall(r'<img src="(assets/torchrecorder-\w+\.svg)"', page)
    assert len(pictures) == 3
    assert all((built.folder / picture).is_file() for picture in pictures)
    assert page.count('<li class="torchrecorder-card">') == 1
    assert set(re.findall(r"torchrecorder[\w-]*\.js", page)) == {"torchrecorder-models.js"}


def test_without_the_plugin_pictures_are_in_the_page() -> None:
    text = "```torchrecorder-models\n:as: lst\n```\n"
    page = Markdown(extensions=[TorchRecorderExtension()]).convert(text)
    assert "as: &#x27;lst&#x27; is neither table nor grid" in page


def test_a_fence_that_is_only_shown_stays_as_it_is(site: Site) -> None:
    site.write("index.md", "# Home\n\n    ```torchrecorder-models\n    nets.Net\n    ```\n")
    assert "```torchrecorder-models\nnets.Net\n```" in site.build().page()


def test_a_pattern_and_the_line_of_numbers(site: Site) -> None:
    site.write("index.md", "```torchrecorder-models\n:columns: name\n:shape: 1,3\nnets.*\n```\n")
    site.write("net.md", "```torchrecorder\nnets.Net\n:shape: 1,3\n:facts: yes\n```\n")
    built = site.build()
    table = built.page().partition('class="torchrecorder-models"')[2].partition("</figure>")[0]
    names = re.findall(r"<td>(?:<a.*?>)?(\w+)", table)
    assert "Net" in names
    assert names == sorted(names)
    assert '<small class="torchrecorder-facts"' in built.page("net/index.html")
    line = built.page("net/index.html").partition("torchrecorder-facts")[2].partition("</small>")[0]
    assert line.replace("\N{NO-BREAK SPACE}", " ").endswith(
        "Parameters: 32 · 48 FLOPs · Activations: 76 B · x N×3 → N×8"
    )
