"""The finished picture in the formats of print: PDF, TikZ, and PNG for what shows no vectors."""
