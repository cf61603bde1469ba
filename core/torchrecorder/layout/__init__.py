"""From Views to layouts: text for the engine, its answers read, the layout of a paper, and words put in place.

Special words of the room, each with one meaning:

- A *panel* is the inside of a box, or the whole picture. A *segment* is the data of one node, its *source*, on its way
  through a panel. It enters and leaves by *ports*.
- A *row* holds what stands at one height. *Across* is along a row, *along* is the way in which data flows. The *spine*
  is the straight line of the main stream; a *fork* is where it parts.
- A *card* is a node with what is drawn *beside* it. A *hub* is read so often that its readers show its name instead.
- A *wire* is a segment with coordinates: out of its tail, over a *track* in the *gap* between two rows, down a *lane*
  beside the rows it passes, into its head. *Late* data comes in by the side of a box, *early* data leaves by it.
- A *strip* is some rows with coordinates, a *piece* a whole panel; a strip below another, cut off, is a *column*.
- *Towers* are boxes side by side. A *U* is a chain in two columns with *bridges*, which are skips, across.
- A line *back* leads to the next turn of a loop; a *hook* is one from a node to itself.
- A *band* is the line of a title; an *inset* the inside of a layer beside the picture.
- *Sheets* behind a node show that it repeats; the part of them that is seen is its *stack*.
"""
