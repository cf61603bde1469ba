"""From a finished layout to files: SVG, PDF, PNG, TikZ; and Mermaid, text and tables from a View."""
