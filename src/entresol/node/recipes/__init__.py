"""Recipes: each opens chains, makes parts, and returns a node of them."""
