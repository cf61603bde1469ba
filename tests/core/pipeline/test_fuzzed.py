"""A cache with right hashes and wrong contents costs its own diagram at most: no exception, no hang, no script."""

from __future__ import annotations

import pytest

from tests.core.pipeline.fuzzing import LIMIT_S, FuzzedSite, limited
from tests.soaked import Tally


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> FuzzedSite:
    return FuzzedSite(tmp_path_factory.mktemp("fuzzed"))


def survive(site: FuzzedSite, seeds: range) -> int:
    """How many of the spoilt diagrams are shown all the same."""
    shown = 0
    for seed in seeds:
        said = site.spoil(seed)
        try:
            with limited(LIMIT_S):
                pages = site.shown()
        except Exception as error:
            raise AssertionError(said) from error
        assert pages[site.good] == site.picture, said
        shown += bool(pages[site.spoilt])
    return shown


def test_a_spoilt_cache_costs_its_own_diagram_at_most(site: FuzzedSite) -> None:
    shown = survive(site, range(100))
    assert 10 < shown < 95, "too few mutations, or too many, are noticed"


@pytest.mark.soak
def test_two_thousand_spoilt_caches(site: FuzzedSite, tally: Tally) -> None:
    survive(site, range(1000, 3100))
    tally.add("fuzzed caches", 2100)
