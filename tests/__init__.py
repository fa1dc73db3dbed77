"""The tests of Entresol."""
