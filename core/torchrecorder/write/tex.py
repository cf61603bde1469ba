"""What LaTeX asks of a file: words escaped, and lines around a picture, which compile alone and inside a paper."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_ESCAPES = {
    **{sign: f"\\{sign}" for sign in "_&%#${}"},
    **{sign: f"${sign}$" for sign in "<>|"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    '"': "''",
    "-": "-{}",
    "`": "`{}",
    "'": "'{}",
}
_MATHS = {
    "×": r"\times", "÷": r"\div", "−": "-", "±": r"\pm", "·": r"\cdot", "…": r"\ldots", "→": r"\to", "←": r"\gets",
    "↑": r"\uparrow", "↓": r"\downarrow", "↔": r"\leftrightarrow", "⇒": r"\Rightarrow", "≤": r"\le", "≥": r"\ge",
    "≠": r"\ne", "≈": r"\approx", "∞": r"\infty", "∑": r"\sum", "∏": r"\prod", "√": r"\surd", "∈": r"\in",
    "⊕": r"\oplus", "⊗": r"\otimes", "⊙": r"\odot", "∘": r"\circ", "°": r"^\circ", "²": "^2", "³": "^3",
    "½": r"\frac12", "µ": r"\mu", "∂": r"\partial", "∇": r"\nabla", "∥": r"\|", "‖": r"\|",
}  # fmt: skip
_SMALL = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi . pi rho . sigma tau upsilon phi chi psi"
)
_LARGE = ". . Gamma Delta . . . Theta . . Lambda . . Xi . Pi . . Sigma . Upsilon Phi . Psi Omega"
for _first, _greek in (("α", f"{_SMALL} omega"), ("Α", _LARGE)):
    _MATHS |= {chr(ord(_first) + i): f"\\{name}" for i, name in enumerate(_greek.split()) if name != "."}
_SPACES = {"\u00a0": "~", "\u2002": "\\enspace{}", "\u2003": "\\quad{}", "\u2009": "\\,", "\u202f": "\\,"}
_QUOTES = {"‘": "`", "’": "'", "“": "``", "”": "''", "–": "--", "—": "---"}
_MARKS = _SPACES | _QUOTES
_TABLE = str.maketrans({**_ESCAPES, **_MARKS, **{sign: f"${{{text}}}$" for sign, text in _MATHS.items()}})
_LATIN = 0x17F  # the last sign that LaTeX has letters for in every font
_OTHER = re.compile(f"[^\x00-{chr(_LATIN)}{''.join(map(re.escape, (*_MATHS, *_MARKS)))}]+")
_FONTS = (
    "Noto Sans CJK SC",
    "PingFang SC",
    "Microsoft YaHei",
    "Noto Serif CJK SC",
    "FandolHei",
    "Noto Sans",
    "DejaVu Sans",
)

_ALONE = r"""% Inside a paper, \input this file behind \usepackage{tikz}; alone, it is compiled as it is.
\expandafter\ifx\csname @nodocument\endcsname\relax
  \let\trend\relax
\else
  \RequirePackage{fix-cm}
  \documentclass{article}
  \usepackage[paperwidth=WIDEbp,paperheight=HIGHbp,margin=0pt]{geometry}
  \usepackage{tikz}
  \pagestyle{empty}\parindent=0pt\topskip=0pt
  \renewcommand\familydefault{\sfdefault}
OTHER  \def\trend{\end{document}}
  \begin{document}
\fi
\ifcsname tikzpicture\endcsname\else
  \PackageError{torchrecorder}{This picture is drawn with TikZ}{Write \string\usepackage{tikz} before
    \string\begin{document}.}
\fi
\usetikzlibrary{arrows.meta,shapes.geometric}
\providecommand\trother[1]{#1}"""
_OTHER_FONTS = r"""  \ifcsname directlua\endcsname
    \usepackage{fontspec}
    \def\trtry#1{\ifcsname trfont\endcsname\else\IfFontExistsTF{#1}{\newfontfamily\trfont{#1}}{}\fi}
    TRIED
    \ifcsname trfont\endcsname\else\PackageError{torchrecorder}{No font is known for some words}{Name one in the
      list of \string\trtry, above.}\fi
    \newcommand\trother[1]{{\trfont #1}}
  \else
    \PackageError{torchrecorder}{pdflatex has no font for some words}{Compile this file with lualatex.}
  \fi
"""


def escaped(text: str) -> str:
    """The text as LaTeX sets it; words in other scripts are given to `trother`, which chooses a font for them."""
    text = unicodedata.normalize("NFC", text)
    text = "".join(sign for sign in text if unicodedata.category(sign) not in ("Cc", "Cf"))
    parts, end = [], 0
    for match in _OTHER.finditer(text):
        parts += [text[end : match.start()].translate(_TABLE), f"\\trother{{{match[0]}}}"]
        end = match.end()
    return "".join(parts) + text[end:].translate(_TABLE)


def document(title: str, alt: str, lines: Sequence[str], wide: float, high: float) -> str:
    is_other = any("\\trother{" in line for line in lines)
    tried = "\n    ".join(f"\\trtry{{{font}}}" for font in _FONTS)
    head = _ALONE.replace("OTHER", _OTHER_FONTS.replace("TRIED", tried) if is_other else "")
    head = head.replace("WIDE", f"{wide:.2f}").replace("HIGH", f"{high:.2f}")
    said = [f"% {' '.join(text.split())}" for text in (title, alt) if text.strip()]
    return "\n".join((*said, head, *lines, "\\trend", ""))
