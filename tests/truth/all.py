"""All cases."""

from __future__ import annotations

from tests.truth import cases, more_cases

CASES = [*cases.CASES, *more_cases.CASES]
