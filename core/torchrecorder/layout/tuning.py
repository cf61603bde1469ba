"""Tuned numbers of the room: what each is, its unit, and a picture of the gallery that moves with it.

To change one, see which pictures move: `nox -s bench -- tuning NAME=VALUE`. A picture named here is the first of the
gallery that changed with the number at three quarters, or at 1.3 times, of what it is. Where none is named, that was
not measured.
"""

from __future__ import annotations

# The page.

PAGE = (540.0, 675.0)
"""Points of width and height of a page: 720 by 900 CSS pixels. alexnet at less, SimpleViT at more."""
ABOVE_INSETS = 450.0
"""Points that a picture may be high whose insets stand below it. davit_tiny at less, resnet50 at more."""
BESIDE_INSETS = 1350.0
"""Points that a picture may be high whose insets stand beside it. None of the gallery."""
PICTURES_APART = 16.0
"""Points between a picture and its insets."""
MAX_WIDTH = 1275.0
"""Points above which a picture is laid out in layers instead."""
SMALL_FROM = 1.25
"""How much wider than its room a picture may be, where 14 px become 11.2 px."""
HARD_TO_READ = 10.0
"""Points of height that each point of width beyond that costs."""
CROSSING_COSTS = 20.0
"""Points of height that a crossing of two lines costs."""
LINES_A_CROSSING = 5
"""Lines of a picture for each crossing that is let pass."""
FEW_CROSSINGS = 2
"""Crossings that are always let pass."""
TOUCHING = 2.0
"""Points by which figures may touch before they count as overlapping."""
TRIES = 20
"""Placements of one picture that are tried at most."""
GIVEN_UP = 400.0
"""Points of height that a U, or towers side by side, are worth."""

# Cards: nodes with what stands beside them.

SIZE = 10.5
"""Points of the letters in a node. PatchDiscriminator."""
SMALL = 9.0
"""Points of the letters in a small node beside another. GraphUNet."""
SIGN = 18.7
"""Points of width of a node that is a sign, such as +. DeepSpeech_80."""
STACK = 6.0
"""Points that the sheets of a repeated layer reach to the lower right. DeepSpeech_80."""
CARDS_APART = 18.0
"""Points between two nodes in a row, as far as a card reckons with others. None of the gallery."""
BOX_AROUND = 40.0
"""Points that a box takes around the nodes in it, about. vit_b_16 at less, Unet_encoder_name__resnet34___en at more."""
BESIDE = 13.0
"""Points between a node and what stands beside it. GraphUNet."""
BETWEEN_BESIDE = 3.0
"""Points between two things beside a node. None of the gallery."""
CARD_MARGIN = 9.0
"""Points between the words of a node and its outline. PatchDiscriminator."""
LEAST_WIDE = 57.6
"""Points that a node is wide at least. GraphSAGE at less, PatchDiscriminator at more."""
LEAST_SMALL = 21.6
"""Points that a small node is wide at least. None of the gallery."""
LEAST_HIGH = 19.8
"""Points that a node is high at least. PatchDiscriminator."""
USUAL_LINES = (165.0, 175.0)
"""Points of all words that may stand in one line, and of a line before it is broken. PatchDiscriminator."""
NARROW_LINES = (120.0, 110.0)
"""The same in a picture that has to be narrow. SimpleViT."""
SIDEWAYS_LINES = (0.0, 110.0)
"""The same where data flows to the right."""
TAG_WIDE = 62.0
"""Points that a name on a tag may be wide; what is longer is cut at its end."""

# Titles of boxes.

BAND = 17.0
"""Points that the band of a title is high."""
TITLE_BASE = 13.5
"""Points from the top of a band to the base line of its title."""
TITLE_INSET = 9.0
"""Points between a title and the border."""
TITLE_FROM_LINE = 7.0
"""Points between a title and a line that enters."""
SYMMETRY = 0.62
"""Part of the longer side of a box that the shorter one has at least."""
ALMOST = 30.0
"""Points by which the sides of a box differ that are made equal."""
NAME_WIDE = 500.0
"""Points above which a name in a title is cut."""
REST_COSTS = 6.0
"""Points that it costs to have nothing of a title at the left."""
SPLIT_COSTS = 12.0
"""Points that it costs to split a title."""
SECOND_LINE_COSTS = 30.0
"""Points that it costs to give a title a second line."""
TITLE_LINE = 12.6
"""Points between two lines of a title."""
LEAST_TITLE_LINE = 110.0
"""Points below which a line of a title is not broken, where data flows to the right."""

# Rows: where things stand.

LANE = 8.0
"""Points between lines that lead beside each other."""
APART = 18.0
"""Points between two nodes or boxes in a row."""
PORTS_APART = 12.0
"""Points between two lines that enter a box in a row."""
SKIP_ON_SPINE = 0.5
"""Nodes by which a way along a skip is shorter when the spine is chosen."""
SKIP_PULL = 0.2
"""How much a skip pulls what it joins into one line; another edge pulls with 1."""
FORK = 3
"""Branches that lie around the middle, not the longest of them on the spine."""
FORK_WIDER = 1.05
"""How much wider a panel may be where branches go straight on below each other."""
HUB = 4
"""Readers, one after another, that see the name of what they read instead of a line."""
SEVERAL = 2
"""Lines that count as several when a hub is looked for."""
BUNDLED = 2
"""Lines into one output above which they are drawn as one."""

# Gaps between rows.

ARROW_ROOM = 11.0
"""Points above a node that a line needs for its arrow."""
BOX_MARGIN = 10.0
"""Points between the border of a box and what is in it."""
WORD_GAP = 12.5
"""Points between two rows with words at a line between them."""
WORD_GAP_TO_BOX = 15.0
"""Points between two rows with words, above a row with a box."""
TRACK = 7.0
"""Points between two tracks, which are lines along a gap."""
FIRST_TRACK = 6.0
"""Points above the first track of a gap."""
LAST_TRACK = 4.0
"""Points below the last track of lines that leave."""
ARRIVING_TRACK = 5.0
"""Points below the last track of lines that arrive."""
GAP_SIDEWAYS = 16.0
"""Points between two rows if data flows to the right."""
WORD_AIR = 8.0
"""Points that a word at a line needs there besides its length and the arrow."""
PORT_GAP = 10.0
"""Points between a border and the row next to it."""
STRIP_AIR = 9.0
"""Points between a line and what it passes in a gap."""
ON_TRACK = 5.0
"""Points between two lines on one track."""

# Lanes: lines beside rows.

LANE_AIR = 9.0
"""Points between a lane and what it passes."""
LINE_INSET = 7.0
"""Points between the corner of a node and a line that enters at its top."""
BEND_COSTS = 10.0
"""Points of length that a bend costs."""
WRONG_SIDE_COSTS = 26.0
"""Points of length that the side costs on which the others are not."""
FAN = 11.0
"""Points between lines into one node, at most."""
SERIES = 3
"""Lines that leave before the end, from which on all do so on one side."""
RADIUS = 7.0
"""Points of the radius of every corner of a line."""
ARROW = 6.0
"""Points that an arrow is long."""
ROUNDNESS = 0.55
"""How far control points of a corner lie from its ends, as a part of its radius."""

# Lines back to the next turn of a loop.

BACK_AIR = 8.0
"""Points between a lane back and what it passes at its sides. None of the gallery."""
BACK_PAST = 2.9
"""Points between a lane back and what it passes at its ends. None of the gallery."""
BACK_REACH = 13.0
"""Points from the side of a node to a lane: an arrow and a round corner. None of the gallery."""
BACK_OFF = (0.0, 5.0, -5.0)
"""Points from the middle of a side; the two lines of a node that reads itself are a lane apart. None of the gallery."""
BACK_CLOSE = 4.5
"""Points between lines side by side that are one to the eye. None of the gallery."""
BACK_BEND_COSTS = 12.0
"""Points of length that a bend costs. None of the gallery."""
BACK_CROSSING_COSTS = 40.0
"""Points of length that a crossing costs. None of the gallery."""
UP_COSTS = 8.0
"""Points of length that it costs to leave at the top. None of the gallery."""
OTHER_SIDE_COSTS = 6.0
"""Points of length that the side costs that is not the usual one. None of the gallery."""
WORD_FROM_BACK = 4.0
"""Points between a word and its line. None of the gallery."""

# Columns and Us.

COLUMN_GAP = 14.0
"""Points between two rows, when the height of a chain is reckoned."""
COLUMN_SIDE = 18.0
"""Points between two columns, when their width is reckoned."""
BOX_HIGH = 62.0
"""Points that a box adds to the height of what is in it, as reckoned."""
BOX_WIDE = 40.0
"""Points that a box adds to the width of what is in it, as reckoned."""
LEAST_CHAIN = 330.0
"""Points below which a chain is never cut into columns."""
TOO_HIGH = 1.0
"""Pages that a chain may be high before it is cut."""
COLUMNS_WIDER = 1.05
"""Pages that columns may be wide together."""
KEPT = 0.8
"""Part of the height of a chain that columns may have at most."""
COLUMN_GUTTER = 14.0
"""Points between two columns for a line, as reckoned."""
COLUMN_BESIDE = 40.0
"""Points that something beside a column takes, as reckoned."""
U_WIDER = 1.3
"""Pages that a U may be wide, which says more than a chain."""
GUTTER = 22.0
"""Points between columns."""
TURN = 9.0
"""Points below a column at which its line turns to the next."""
NAMED = 5
"""Outputs at one line from which on the first and the last name them."""
U_GUTTER = 22.0
"""Points between the two columns of a U."""
U_TURN = 9.0
"""Points below the columns of a U at which lines turn."""
U_AIR = 9.0
"""Points between a line across a U and what it passes."""
LEVEL = 0.5
"""Points by which rows differ that are at one level."""
ACROSS_APART = 7.0
"""Points between two lines across a U."""
LEAST_PAIRS = 2
"""Skips across that make a U."""

# The layered layout, and words.

MANY = 300
"""Nodes above which layout takes less care, and edges carry no text."""
VERY_MANY = 1000
"""Nodes above which layout takes the least care."""
SKIP_AIR = 7.0
"""Points between a skip and the border of the box that it is in."""
BENDS = (0.5, 0.35, 0.25, 0.17, 0.1, 0.06, 0.03)
"""Parts of its length that an end of a skip takes to get beside what it passes; the first with room."""
BEND_ROUND = 0.6
"""How far the control points of a bend lie from its ends, as a part of its size."""
LAYERED_INSET = 9.0
"""Points between a title of a layered box and its border."""
WORD_SIZE = 9.0
"""Points of the letters beside lines."""
WORD_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
"""Parts of its length at which a line may have its word; the first with room."""
WORD_FROM_LINE = 3.5
"""Points between a word and its line."""
WORD_FROM_BORDER = 1.2
"""Points between a word and the line of a box."""
