"""The rule that names of the zoo are shared by among libraries, some of which have none left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bench import unseen


def _left(**counts: int) -> dict[str, Iterator[str]]:
    return {library: iter([f"{library}/{i}" for i in range(count)]) for library, count in counts.items()}


def _of_each(chosen: list[str]) -> dict[str, int]:
    return Counter(name.partition("/")[0] for name in chosen)


def test_what_a_library_lacks_is_of_the_next_one() -> None:
    chosen = unseen._shared(_left(one=9, two=1, three=9), 9)
    assert _of_each(chosen) == {"one": 3, "two": 1, "three": 5}


def test_what_the_last_libraries_lack_is_shared_by_those_with_names_left() -> None:
    chosen = unseen._shared(_left(one=20, two=1, three=20, four=0, five=0), 20)
    assert _of_each(chosen) == {"one": 8, "two": 1, "three": 11}
    assert len({*chosen}) == 20


def test_fewer_names_than_asked_for_are_all_that_there_are() -> None:
    assert len(unseen._shared(_left(one=3, two=0), 9)) == 3
