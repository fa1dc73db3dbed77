"""A remote that lies to a fork that verifies."""
