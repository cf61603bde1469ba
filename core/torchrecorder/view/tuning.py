"""Tuned numbers of the room: what each moves, its unit, and a picture of the gallery that it was chosen on.

To change one, see which pictures move: `nox -s bench -- tuning NAME=VALUE`. The pictures named here are those of the
gallery that change first at a lower and at a higher value, so they are the ones to look at; "none" is of the gallery at
`depth: auto`, and the number is for other depths or for models that are not in it.
"""

from __future__ import annotations

# How much a picture shows.

AUTO_NODES = 40
"""Nodes that a view of automatic depth shows, unless it opens much of a model. Whisper at 30, HiFi-GAN at 55."""
FULL = 30
"""Nodes above which a few ops of arithmetic are one node with their formula: what reads as bookkeeping leaves the room
to layers."""
WHOLE = 56
"""Nodes that it shows at most; if nothing is opened and there are more, its middle is left out. The attention of two
streams in Flux and its like at 50; a loop of losses at 60."""
MANY_NODES = 300
"""Nodes above which a note says that a picture is hard to read."""
MAX_ASKED = 500
"""Nodes that a view of a given depth shows at most; beyond it a smaller depth is drawn."""
MAX_NODES = 5000
"""Nodes above which nothing is drawn."""
MAX_LEVELS = 50
"""Levels of calls in one another above which kinds are not compared, which takes time by calls times levels."""
ROOMY = 14
"""Nodes below which no closed layer in a picture holds more than `MOST` of the model."""
MOST = 0.5
"""Share of the parameters that hides the model if it is closed."""
FAR = 25
"""Ranks that an edge spans before it is cut."""

# What is drawn once for many.

ROW = 3
"""Closed layers in parallel that are drawn one beside the other; more are one node. FT-Transformer at 1; none at 6."""
PARTS = 3
"""Things that stand in one node for columns in parallel at most; longer columns have a box."""
LINE = 4
"""Layers and ops in a row that the node of the layer around them says, at most. Transitions of a DenseNet at 3."""
LARGE_PATCH = 5
"""Ops without parameters up to which a connected patch of them is drawn op by op."""
LARGE_FUNCTION = 16
"""Ops of a function that weighs, gates or gathers up to which its lines are drawn where there is room. ArcFace."""
SMALL_PATCH = 2
"""The same where a layer of the model's own has to stay closed for them."""
LEAST_CHANGING = 3
"""Equal layers whose sizes change that are drawn as one at least. None at 2 or 6."""
MAX_PERIOD_OF_CALLS = 8
"""Kinds of calls that take turns at most: each length costs a pass. None at 1 or 20."""
MIN_TURNS = 3
"""Times that such a turn comes at least. None at 2 or 5."""
PERIODS = 16
"""Lengths of a loop's turn that are tried, the most frequent distances of equal things first: each costs a pass.
None at 2."""
LONG_VIEW = 14
"""Nodes above which equal layers of torch with unequal sizes are one series. AlexNet at 8."""
FEW_OUTPUTS = 3
"""Layers within a series up to which each that gives an output ends a part of the series."""
MANY_STEPS = 4
"""Layers in a row above which they are one series though each changes the resolution. AutoencoderKL at 2; none at 8."""
MAX_PERIOD_OF_TURNS = 32
"""Nodes in a turn of layers that take turns, at most. Rotary decoder at 3; none at 40."""
MAX_LISTED = 8
"""Inputs or outputs in one tuple or list above which they are one node. PatchDiscriminator at 3; none at
20."""
GHOST_FANOUT = 3
"""Readers of a parameter or constant above which it is drawn beside each, since long edges hide the structure.
LightGCN, if it is beside none."""

# What is opened.

ROOM = 19
"""Nodes of a picture up to which whatever tells something is opened."""
ROOM_OF_ALL = 100
"""Nodes that it may have besides, times the score of what is opened, a share of the model: a fifth fills a picture up
to `AUTO_NODES`."""
BEYOND = 32
"""Nodes that it may have beyond `AUTO_NODES`, times the score, for what the model may be known for: RandLA-Net and
Z-Image at 24."""
MIXED = 50
"""Nodes that it may have for such a layer whatever its score, if places of the data meet in it and it is called several
times or holds much of the model: without it, HunyuanDiT's attention is closed."""
SIGN = 0.5
"""Nodes that a sign in a circle leaves free for such a layer, as it is small: the joint attention of Ovis."""
SMALL_INSIDE = 12
"""Nodes in such a layer up to which it is opened if there is this room, whatever its score. MedNeXt, ControlNet."""
OWN = 2.0
"""Factor on the score of a layer whose class is defined where the model's is: it is what the model is named for, and
blocks of a library, encoders and heads are known."""
LEAST_SHARE = 0.12
"""Share of the model that a layer of its package with products of matrices counts as at least, if it tells enough:
attention and quantizers are what a model is known for, and have few parameters. HRNet and x-transformers' decoder."""
LARGE_KIND = 0.1
"""Share of the model above which a layer is also worth what its own layers tell. AutoencoderKL at 0.3; none lower."""
DEEPER = 0.8
"""Factor on the score of a layer that lies in another one which is opened. AutoencoderKL at 0.5, YOLOS at 1."""
AT_SEVERAL_PLACES = 1.3
"""Factor on the score of a layer that stands at several nodes: it explains each of them. AutoencoderKL at 1, DiT at
2."""
LEAST_INFORMATION = 2
"""Different things, and joins twice, that an inside tells at least; one less of the model's own in the overview.
DeepSpeech at 1, SimpleViT at 3."""
FULL_INFORMATION = 4
"""Different things, and joins twice, with which an inside tells enough for its whole share to count. YOLOS at 2,
AutoencoderKL at 8."""
SPINE = 0.85
"""Share of the model above which a call has no box: its inside is drawn in place of it. Whisper at 0.7, DeepLabV3+ at
0.95."""
LARGE_LIST = 0.3
"""Share of the model above which a list of layers has no node of its own. DETR at 0.15, nn.Transformer at 0.6."""
BODY = 0.6
"""Share of what is around it with which a list is the body of a block, and has none either. None at 0.4 or 0.8."""
SHORT_LIST = 3
"""Nodes up to which a list has none. FT-Transformer at 2, SAM's encoder at 5."""
NESTED = 2
"""Boxes in one another inside of which what is opened has no box of its own, unless it repeats. Time series
transformer at 1, BERT at 3."""

# What is of one kind, and the words for what is not.

ALIKE = 0.8
"""Share of what is in two calls that is the same if they are of one kind. DLA-34 at 0.6, T5 at 0.95."""
ROUNDS = 8
"""Models of one kind at most: what no few words tell from any of them is drawn one by one. None at 2 or 80."""
NAMED = 3
"""Differences that are said of a node, and closed classes that a note names. MobileNetV3 at 2; none at 5."""
LONG_WORDS = 68
"""Characters that differences of a node take at most. MobileNetV3 at 36 and at 80."""
PHRASES = 2
"""Groups of calls that differ in other things at most: three were hard to read. MobileNetV3 at 1."""
MANY = 4
"""Parts of which one is drawn for all, from which on another number of them needs no name of the part. DaViT at 8;
none at 2."""
GIVERS = 3
"""Nodes that give a list of tensors behind the first output at most; a list of more places is named below the picture,
as its lines would cross all others. BridgeTower."""
