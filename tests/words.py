"""How our sentences read: what the tests of texts look for."""

from __future__ import annotations

import re

ODD_WORDS = re.compile(
    r"\b(somebody|anybody|nobody|whoever|meanwhile|mend(?:s|ed|ing)?|told|cannot be had"
    r"|(?<!there )(?:is|are) no(?! (?:longer|more|less|later|such|other|different|better|worse)\b) [\w`']+)\b",
    re.IGNORECASE,
)
"""Words that an engineer of the field would not write, and "is no width" in place of "is not a valid width"."""
