"""Persistence of a chain: block records, and the tables derived from them."""
