"""The nets that the demo documents: small, but built as people build them."""
