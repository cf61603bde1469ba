"""What `depth: auto` shows: each kind of layer opened once, in place or beside the picture, all others closed."""
