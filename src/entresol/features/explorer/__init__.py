"""The explorer: web pages that show both layers, and the files they are made of."""
