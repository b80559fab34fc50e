"""Help while writing rules: highlighting, completion, hover, definitions, and a language server."""
