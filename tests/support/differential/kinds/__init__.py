"""Families of generated transactions, one module each."""
