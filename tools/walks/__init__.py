"""The way of one request through the code: which files, packages and languages it passes."""
