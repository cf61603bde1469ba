"""What a picture says: names, summaries of layers, kinds of nodes, numbers, and the sentence that stands for it all."""
