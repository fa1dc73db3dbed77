"""Talking to a layer 1: its interface, a client, the embedded one, and the contracts on it."""
