"""The places of words beside lines."""

from __future__ import annotations

from dataclasses import replace

from torchrecorder.layout.finish import finished
from torchrecorder.layout.geometry import Rect
from torchrecorder.layout.model import Figure, Layout, Line, Word
from torchrecorder.layout.widths import width
from torchrecorder.proof.layout import unsaid

NONE = frozenset[str]()


def put(line: Line, *others: Line, boxes: tuple[Figure, ...] = ()) -> Rect:
    """The place of the word of a line in a picture."""
    layout = Layout(200.0, 200.0, [*boxes], [], [line, *others], [])
    (word,) = finished(layout, uid="p1", title="", desc="").words
    return Rect.centred(word.x, word.y - 3.0, width(word.text, word.size), 6.5)


def down(x: float, word: str = "", ends: tuple[str, str] = ("0", "2"), bottom: float = 150.0) -> Line:
    return Line(NONE, [(x, 50.0), (x, bottom)], None, word, ends=ends)


def test_a_word_stands_at_the_side_where_no_line_of_another_node_is_as_near() -> None:
    alone = put(down(100.0, "8×16"))
    assert alone.left > 100.0
    near = Line(NONE, [(alone.right + 3.0, 50.0), (alone.right + 3.0, 150.0)], None, "", ends=("1", "3"))
    assert put(down(100.0, "8×16"), near).right < 100.0
    assert put(down(100.0, "8×16"), near._replace(ends=("0", "3"))) == alone


def test_a_word_does_not_stand_on_the_sheets_of_a_repeated_box() -> None:
    box = Figure(frozenset({"repeat"}), Rect(20.0, 40.0, 160.0, 95.0), False, ())
    leaving = Line(NONE, [(100.0, 90.0), (100.0, 108.0)], None, "8×16", ends=("0", "2"))
    assert put(leaving, boxes=(box._replace(flags=NONE),)).top < 101.0
    below = Line(NONE, [(100.0, 90.0), (100.0, 130.0)], None, "8×16", ends=("0", "2"))
    assert put(below, boxes=(box,)).top > 101.0


def test_a_size_that_has_room_at_the_line_of_another_node_only_is_left_out() -> None:
    near = [Line(NONE, [(x, 50.0), (x, 150.0)], None, "", ends=("1", "3")) for x in (93.0, 107.0)]
    layout = Layout(200.0, 200.0, [], [], [down(100.0, "8×16"), *near], [])
    assert finished(layout, uid="p1", title="", desc="").words == []


def test_a_size_stands_as_far_from_a_line_below_it_as_from_one_above() -> None:
    """Commas reach below the letters, so that a line below is nearer than it is to their middle."""
    ends = ("1", "3")
    for y in (50.0 + step / 2 for step in range(100)):
        across = Line(NONE, [(60.0, y), (160.0, y)], None, "", ends=ends)
        layout = Layout(200.0, 200.0, [], [], [down(100.0, "8×16"), across], [])
        for word in finished(layout, uid="p1", title="", desc="").words:
            assert not word.y - 0.72 * word.size - 3.4 < y < word.y + 0.2 * word.size + 3.4, (y, word)


def test_a_name_stands_in_its_line_where_there_is_no_room_beside_it() -> None:
    own = Line(NONE, [(20.0, 100.0), (180.0, 100.0)], None, "", ends=("0", "2"), part="mask")
    others = [Line(NONE, [(20.0, y), (180.0, y)], None, "", ends=("1", "3")) for y in (93.0, 107.0)]
    layout = Layout(200.0, 200.0, [], [], [own, *others], [])
    done = finished(layout, uid="p1", title="", desc="")
    (word,) = done.words
    assert abs(word.y - 3.0 - 100.0) < 2.0
    assert len(done.lines[0].parts) == 2  # the line has a gap for it
    assert [len(line.parts) for line in done.lines[1:]] == [1, 1]


def test_no_word_lies_on_the_arrow_of_another_line() -> None:
    alone = put(down(100.0, "8×16"))
    tip = Line(NONE, [(alone.right - 4.0, 40.0), (alone.right - 4.0, alone.top - 2.0)], None, "", ends=("1", "3"))
    assert put(down(100.0, "8×16"), tip._replace(tip=(alone.right - 4.0, alone.bottom))).right < 100.0


def test_a_word_stands_closer_to_its_line_where_another_one_is_as_near() -> None:
    wide = width("mask", 9.0)
    ends = [("0", "2"), ("1", "3"), ("1", "4")]
    own, *others = [
        Line(NONE, [(x, 50.0), (x, 150.0)], None, "", ends=of)
        for x, of in zip((100.0, 100.0 - wide - 6.0, 100.0 + wide + 6.0), ends, strict=True)
    ]
    place = put(own._replace(part="mask"), *others)
    assert min(abs(place.left - 100.0), abs(place.right - 100.0)) < 2.5


def test_names_of_several_things_stand_in_two_lines_where_there_is_no_room_for_one() -> None:
    own = Line(NONE, [(100.0, 50.0), (100.0, 80.0)], None, "", ends=("0", "2"), part="first_scale, first_shift")
    others = [Line(NONE, [(x, 40.0), (x, 90.0)], None, "", ends=("1", "3")) for x in (40.0, 160.0)]
    done = finished(Layout(300.0, 200.0, [], [], [own, *others], []), uid="p1", title="", desc="")
    assert [word.text for word in done.words] == ["first_scale,", "first_shift"]
    assert [*unsaid(done)] == []


def test_a_part_that_has_no_room_is_found() -> None:
    own = Line(NONE, [(100.0, 50.0), (100.0, 58.0)], None, "", ends=("0", "2"), part="mask")
    node = Figure(NONE, Rect(0.0, 0.0, 200.0, 200.0), False, (), key="9")
    done = finished(Layout(200.0, 200.0, [], [node], [own], []), uid="p1", title="", desc="")
    assert done.words == []
    assert [*unsaid(done)] == ["the line from 0 to 2 has no room for “mask”"]
    far = replace(done, words=[Word(1000.0, 1000.0, 9.0, "mask")])
    assert [*unsaid(far)] == [*unsaid(done)]


def test_a_name_does_not_stand_on_the_line_of_another_node() -> None:
    own = Line(NONE, [(100.0, 50.0), (100.0, 62.0)], (100.0, 70.0), "mask", ends=("0", "2"))
    others = [Line(NONE, [(x, 40.0), (x, 90.0)], None, "", ends=("1", "3")) for x in (94.0, 106.0)]
    done = finished(Layout(200.0, 200.0, [], [], [own, *others], []), uid="p1", title="", desc="")
    assert done.words == []
    assert [*unsaid(done)] == ["the line from 0 to 2 has no room for “mask”"]
    over = replace(done, words=[Word(94.0 - 4.0, 60.0, 9.0, "mask")])  # nearer to the line that it hides
    assert [*unsaid(over)] == [*unsaid(done)]
    assert [*unsaid(replace(over, lines=[own]))] == []


def test_a_name_along_its_own_line_may_lie_on_a_line_across() -> None:
    own = Line(NONE, [(20.0, 100.0), (70.0, 100.0)], (76.0, 100.0), "image_mask", ends=("0", "2"))
    across = [Line(NONE, [(x, 40.0), (x, 160.0)], None, "", ends=("1", "3")) for x in (30.0, 50.0)]
    done = finished(Layout(200.0, 200.0, [], [], [own, *across], []), uid="p1", title="", desc="")
    assert [word.text for word in done.words] == ["image_mask"]
    assert [*unsaid(done)] == []


def test_the_name_with_the_fewest_places_gets_one_first() -> None:
    """A name with room at both sides took the only side of its neighbour."""
    wide = width("first", 9.0)
    others = [down(114.0 + wide, "mask", ("1", "3"), 64.0), down(126.0 + wide, "", ("4", "5"), 64.0)]
    layout = Layout(300.0, 200.0, [], [], [down(100.0, "first", bottom=64.0), *others], [])
    done = finished(layout, uid="p1", title="", desc="")
    assert {word.text for word in done.words} == {"first", "mask"}
    assert [*unsaid(done)] == []


def test_a_name_that_its_reader_has_for_it_too_stands_once() -> None:
    layout = Layout(200.0, 200.0, [], [], [down(100.0, "x")._replace(part="x")], [])
    done = finished(layout, uid="p1", title="", desc="")
    assert [word.text for word in done.words] == ["x"]
    assert [*unsaid(done)] == []


def test_a_size_at_a_short_line_out_of_a_box_stands_between_its_border_and_the_reader() -> None:
    box = Figure(NONE, Rect(20.0, 20.0, 180.0, 58.5), False, ())
    nodes = [Figure(NONE, Rect(60.0, *rows), False, ()) for rows in ((30.0, 140.0, 50.0), (70.0, 140.0, 90.0))]
    line = Line(NONE, [(100.0, 50.0), (100.0, 64.0)], (100.0, 70.0), "8×16", ends=("0", "2"))
    layout = Layout(200.0, 200.0, [box], nodes, [line], [])
    (word,) = finished(layout, uid="p1", title="", desc="").words
    assert 58.5 < word.y - 6.5 < word.y < 70.0
    closer = [nodes[0], nodes[1]._replace(rect=Rect(60.0, 65.0, 140.0, 90.0))]
    short = line._replace(curve=[(100.0, 50.0), (100.0, 59.0)], tip=(100.0, 65.0))
    layout = Layout(200.0, 200.0, [box], closer, [short], [])
    assert finished(layout, uid="p1", title="", desc="").words == []  # no room below the border
