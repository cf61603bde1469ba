"""Tuned numbers of the room: what each is, its unit, and the pictures of the gallery that move most with it.

Each was drawn at three quarters and at five quarters of what it is: of two pictures the first moves most at less, the
second at more. Lengths are points, and costs are lengths that a reader would rather have. To change one, see which
pictures move: `nox -s bench -- tuning NAME=VALUE`.
"""

from __future__ import annotations

# The page.

PAGE = (540.0, 675.0)  # width and height of a page, 720 by 900 CSS pixels: alexnet, swin_t
ABOVE_INSETS = 2 / 3 * PAGE[1]  # height of a picture whose insets stand below it: davit_tiny, swin_t
BESIDE_INSETS = 2 * PAGE[1]  # height of a picture whose insets stand beside it: SAM at 0
PHONE = 315.0  # a narrower column is that of a phone, 420 CSS pixels
TOWERS = 5  # tries to make a tower as narrow as its room
PICTURES_APART = 13.0  # between a picture and its insets: GAT, ECAPA_TDNN
MAX_WIDTH = 1275.0  # wider pictures are laid out in layers instead: rt_detr at more
TOO_WIDE = 4.0  # cost of each point of width beyond the room
SMALLER = 15.0  # cost of any width beyond the room: letters are smaller than in other pictures: CREPE
TOO_WIDE_ON_PHONE = 30.0  # the same on a phone, where one scrolls down
SMALL_FROM = 1.25  # how much wider than its room a picture may be, where 14 px become 11.2 px: I3D at less
CLOSED_FROM = 1.4  # the same before layers are closed again, where 14 px become 10 px: sentence VAE, ControlNet-XS
CLOSED_FROM_COST = 900.0  # cost of crossings and width up to which none are, as of 20 crossings: DeepVoice 3
LESS_FROM = 1.055  # how much wider than its room a picture may be before less is tried
LESS_FROM_CROSSINGS = 8  # crossings beyond which the same is done
HARD_TO_READ = 10.0  # cost of each point of width beyond that: hifigan at more to the right
CROSSING_COSTS = 45.0  # cost of a crossing of two lines: hf_mae, BiDAF at less
LINES_A_CROSSING = 5  # lines of a picture for each crossing that is let pass: hdemucs at more
CROSSINGS_ON_PHONE = 8  # crossings that are let pass in any picture on a phone, where lines lead beside a tower
FEW_CROSSINGS = 2  # crossings with which no other way is tried: denoising Unet
TOUCHING = 2.0  # how far lines and nodes may reach into a node; lines end at outlines: UNet2DCondition at 0
GIVEN_UP = 400.0  # cost of giving up a U, or towers side by side: smp Unet to the right at 0

# Cards: nodes with what stands beside them.

SIZE = 10.5  # letters in a node: GAT, UNet2DCondition
SMALL = 9.0  # letters in a small node beside another, and beside lines: UNet2DCondition, detr
SIGN = 18.7  # width of a node that is a sign, such as +: SimpleViT, hdemucs
STACK = 6.0  # how far the sheets of a repeated layer reach to the lower right: DeepSpeech
BESIDE = 13.0  # between a node and what stands beside it: mamba2, SAM
BETWEEN_BESIDE = 3.0  # between two things beside a node: UNet2DCondition
CARD_MARGIN = 9.0  # between the words of a node and its outline: GAT, hdemucs
LEAST_WIDE = 57.6  # least width of a node: GAT, LightGCN
LEAST_HIGH = 18.6  # least height of a node: GraphUNet
USUAL_LINES = (165.0, 175.0)  # all words that may stand in one line, and a line before it is broken: GAT, llava
NARROW_LINES = (120.0, 110.0)  # the same in a picture that has to be narrow: nn.Transformer, swin_t
SHORTER_TEXTS = (130.0, 110.0, 85.0, 66.0)  # how long lines may be in rows that are too wide, one after another: olmo2
SHORTENED = 6  # times that such rows are chosen: a limit of time
LEAST_TEXT = 90.0  # a shorter line of a node is not broken on a phone
SIDEWAYS_LINES = (0.0, 110.0)  # the same where data flows to the right: nn.Transformer, gpt2 to the right
TAG_WIDE = 62.0  # a longer name of a hub stands in lines: hdemucs, SD3
END_WIDE = 110.0  # the same at the ends of a line in two parts: wav2vec2

# Titles of boxes.

BAND = 17.0  # height of the band of a title: UNet2DCondition, dla34
TITLE_BASE = 13.5  # from the top of a band to the base line of its title: t5, UNet2DCondition
TITLE_INSET = 9.0  # between a title and the border: SimpleViT, ECAPA_TDNN
TITLE_FROM_LINE = 7.0  # between a title and a line that enters: SimpleViT, ECAPA_TDNN
SYMMETRY = 0.62  # the shorter side of a box is at least such a part of the longer one: conv_tasnet, hifigan
ALMOST = 30.0  # sides of a box that differ by less are made equal: SAM, hifigan
NAME_WIDE = 500.0  # wider boxes are so for their title, and are not made symmetric: llava, wav2vec2
REST_COSTS = 6.0  # cost of having nothing of a title at the left: mixer_b16 at 0
SPLIT_COSTS = 12.0  # cost of a title in two parts: whisper, GCN
SECOND_LINE_COSTS = 30.0  # cost of a second line: SD3, whisper
TITLE_LINES = 4  # lines of a title, or of facts in a node, where a column is narrow
BREAKS_FROM = 75.0  # a longer part of such a text may be broken
LEAST_PIECE = 32.0  # a shorter piece of a broken word goes on in its line
BROKEN_COSTS = 15.0  # cost of a word that is broken
TITLE_LINE = 1.2 * SIZE  # between two lines of a title: llava

# Rows: where things stand.

LANE = 8.0  # between lines that lead beside each other: AttentionUnet
APART = 18.0  # between two nodes or boxes in a row: GAT, hifigan
PORTS_APART = 12.0  # between two lines that enter a box in a row: DiT, GCN
LEANING = 16.0  # how much wider a tower may be so that its spine is straight
SKIP_PULL = 0.2  # how much a skip pulls what it joins into one line, another edge with 1: GraphUNet
FORK = 3  # from so many branches on they lie around the middle, not the longest of them on the spine: GAT, bert
CHAIN = 4  # things one after another beside the spine that stand in one column
CHAIN_WIDER = 1.1  # how much wider than it was a panel may be with such a column
FORK_WIDER = 1.05  # how much wider a panel may be where branches go straight on below each other: googlenet at less
HUB = 4  # from so many readers on, one after another, they see the name of what they read: GAT, SD3
SEVERAL = 2  # sources at the side of a box from which on others come in there too: flux, smp Unet
BUNDLED = 2  # lines into one output above which they are drawn as one: mamba2 at less

# Gaps between rows.

ARROW_ROOM = 11.0  # above a node for an arrow: swin_t, gpt2
BOX_MARGIN = 8.5  # between the border of a box and what is in it: GAT, ECAPA_TDNN
WORD_GAP = 11.5  # between two rows with words at a line between them: alexnet
WORD_GAP_TO_BOX = 13.5  # the same above a row with a box: LightGCN
TRACK = 7.0  # between two tracks: hdemucs
FIRST_TRACK = 6.0  # above the first track of a gap: conv_tasnet
LAST_TRACK = 4.0  # below the last track of lines that leave: conv_tasnet
ARRIVING_TRACK = 5.0  # below the last track of lines that arrive: GraphSAGE
NAMED_ENTRY = 13.0  # above the tracks of an inset whose entrances have names: LTXVideoTransformer3DModel
NAME_ABOVE = 1.5  # below the name of an entrance that leads straight to its node: FluxControlNetModel
OFF_TITLE = 2.5  # between the title of an inset and a line that begins below it: resnext
GAP_SIDEWAYS = 16.0  # between two rows if data flows to the right: Conformer to the right
WORD_BELOW_TRACK = 2.5  # more room above a node for a word at a line that comes from the side: res2net
WORD_AIR = 8.0  # room for a word at a line there, besides its length and the arrow: davit_tiny to the right
PORT_GAP = 8.0  # between a border and the row next to it: dla34
ON_TRACK = 5.0  # between two lines on one track: detr at 0

# Lanes: lines beside rows.

LANE_AIR = 9.0  # between a line and what it passes: GAT, hifigan
LINE_INSET = 7.0  # between the corner of a node and a line that enters at its top: DiT, segformer
BEND_COSTS = 10.0  # cost of a bend: hdemucs at 0
WRONG_SIDE_COSTS = 26.0  # cost of the side on which the others are not: hdemucs at less
SETTLED_SIDE_COSTS = 400.0  # the same where fewer lines cross with a line on one side
EXCHANGES = 12  # exchanges in a row that may save nothing, for each crossing: a limit of time
ARRANGED = 24000  # things placed anew by exchanges in one picture, in all ways to lay it out: UnetPlusPlus
EXCHANGE_SAVES = 60.0  # points of height that a crossing less is worth
EXCHANGE_WIDER = 2.0  # points of height that one of width is worth
IN_ORDER = 20.0  # what it may cost that what leaves a box does so in its order
OPERANDS_IN_ORDER = 60.0  # the same for the operands of a sign that minds which is which: dccrn
ARGUMENTS_IN_ORDER = 5.0  # the same for any of that, or the arguments of one thing, side by side
FAN = 11.0  # between lines into one node, at most: LightGCN
LEAST_FAN = 4.0  # the same at least, as far as there is room: stylegan
SERIES = 3  # from so many lines on that leave before the end, all do so on one side: mamba2, detr
RADIUS = 7.0  # of every corner of a line: hdemucs
ARROW = 6.0  # length of an arrow: hdemucs
ROUNDNESS = 0.55
"""Distance of control points from the ends of a corner, as a part of its radius; 0.552 is a circle: flux, hdemucs."""

# Lines back to the next turn of a loop.

MOST_HOOKS = 3  # rooms for lines back that are tried, each a lane larger at both sides: pointer_generator
BACK_AIR = 8.0  # between a lane back and what it passes at its sides: CRDNN
BACK_PAST = 2.9  # between a lane back and what it passes at its ends: random loops of the tests at twice
BACK_REACH = 13.0  # from the side of a node to a lane: an arrow and a round corner: CRDNN
BACK_OFF = (0.0, 5.0, -5.0)  # from the middle of a side; the two lines of a hook are a lane apart: CRDNN
BACK_CLOSE = 4.5  # lines side by side that are closer are one to the eye: CRDNN at more
BACK_BEND_COSTS = 12.0  # cost of a bend: loops of the tests
BACK_CROSSING_COSTS = 40.0  # cost of a crossing: loops of the tests
UP_COSTS = 8.0  # cost of leaving at the top: a random loop of the tests at 0
OTHER_SIDE_COSTS = 6.0  # cost of the side that is not the usual one: loops of the tests
WORD_FROM_BACK = 4.0  # between a word and its line: CRDNN

# Columns and Us: sizes are estimated before they are known.

COLUMN_GAP = 14.0  # between two rows: swin_t, davit_tiny
BOX_HIGH = 62.0  # what a box adds to the height of what is in it: llava, SAM to the right
BOX_WIDE = 40.0  # what a box adds to the width of what is in it: SimpleViT at less
LEAST_CHAIN = 330.0  # a lower chain is never cut into columns: llava, swin_t
COLUMNS_WIDER = 1.05  # width of columns together, in pages: swin_t, DiT
KEPT = 0.75  # height of columns at most, as a part of the chain's: Conformer, AttentionUnet
FILLED = 0.5  # height of each column at least, as a part of the highest: EfficientNetEncoder
CUTS = 5000  # ways to cut one chain that are all compared: a limit of time
COLUMN_GUTTER = 14.0  # between two columns for a line: SimpleViT, swin_t
COLUMN_BESIDE = 40.0  # what something beside a column takes: davit_tiny at more
U_WIDER = 1.3  # width of a U, in pages; it says more than a chain: UNet2DCondition at more
GUTTER = 22.0  # between columns: swin_t
TURN = 9.0  # below a column where its line turns to the next: resnet50
NAMED = 5  # from so many outputs at one line on, only the first and the last name it: SD3 at less
TOWER = 825.0  # height from which on lines get names so that a chain can be cut: the detector of the tests
PAIR_COSTS = 42.0  # cost of a line in two parts with names: df_unet2d at 30
PAIR_OFF = 0.04  # how far off the middle a cut may be for a name less, as a part of the chain: the U-ViT of the tests
PAIRS_AT_CUT = 4  # lines with names for one cut, at most: the U-ViT of the tests
CUTS_TRIED = 2  # places in one chain: a limit of time
CROSSED = 2  # lines that one has to cross to be worth names: GraphTransformer
LINES_TRIED = 4  # the longest lines of a picture that is too wide: a limit of time
NAMES_TRIED = 16  # ways to give names in one picture: a limit of time
LEAST_PAIRS = 2  # skips across that make a U: SAM at less
LEAST_LADDER = 6  # things below which nothing is a ladder: a stage more than two, each with what it is joined in
LADDER_TEXTS = 85.0, 66.0  # how long lines may be in a ladder that has to be narrow: YOLO, FPN
LEAST_JOINED = 3  # things read from which on what joins stages stands below them all: hypercolumns
MOST_BESIDE = 2  # things in a row between two columns or at their right: longer ones lead down

# The layered layout, and words.

MANY = 300  # nodes above which layout takes less care, edges carry no text, and nothing is a figure of a paper
VERY_MANY = 1000  # nodes above which layout takes the least care: neither has a picture in the gallery, they bound time
SKIP_AIR = 7.0  # between a skip and the border of the box that it is in: bert in layers
BENDS = (0.5, 0.35, 0.25, 0.17, 0.1, 0.06, 0.03)
"""Parts of its length for getting beside what it passes: bert in layers."""
BEND_ROUND = 0.6  # distance of the control points of a bend from its ends, as a part of its size: bert in layers
WORD_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)  # parts of a line's length for a word: rt_detr
WORD_FROM_LINE = 3.5  # between a word and its line: alexnet
WORD_CLOSE = 2.0  # the same where another line is as near: i2a
WORD_FROM_BORDER = 1.2  # between a word and the line of a box: smp Unet at more
