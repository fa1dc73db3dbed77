"""Measurements of Entresol, beside those of its peers."""
