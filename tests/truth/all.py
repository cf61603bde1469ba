"""All cases."""

from __future__ import annotations

from tests.truth import argument_cases, cases, last_cases, module_cases, more_cases, odd_cases, operation_cases

CASES = [
    *cases.CASES,
    *more_cases.CASES,
    *argument_cases.CASES,
    *operation_cases.CASES,
    *module_cases.CASES,
    *odd_cases.CASES,
    *last_cases.CASES,
]
