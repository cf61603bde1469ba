"""All cases."""

from __future__ import annotations

from tests.truth import (
    argument_cases,
    flow_cases,
    layer_cases,
    lineage_cases,
    operation_cases,
    quiet_cases,
    refused_cases,
    scope_cases,
    weight_cases,
    write_cases,
)

CASES = [
    *layer_cases.CASES,
    *flow_cases.CASES,
    *argument_cases.CASES,
    *operation_cases.CASES,
    *write_cases.CASES,
    *weight_cases.CASES,
    *scope_cases.CASES,
    *quiet_cases.CASES,
    *lineage_cases.CASES,
    *refused_cases.CASES,
]
