"""Unmodified clients, over real sockets, against a node in a process of its own."""
