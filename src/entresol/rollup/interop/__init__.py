"""Roots over the messages of all chains: follow them on L1, import them, and prove messages by them."""
