"""The process that speaks to a shared cache; the one room that imports fsspec."""
