"""Packages as users install them."""
