"""Faults in a cluster under load, and the proof from what clients saw that none of them mattered."""
