"""What the machine lacks that a model asks for: devices, memory, a network to fetch weights from."""
