"""Pictures and tables in the files of a project, as its pyproject.toml and comments in its Markdown ask for them."""
