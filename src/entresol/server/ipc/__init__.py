"""Connections over a Unix socket: JSON documents one after another, as geth and anvil exchange them."""
