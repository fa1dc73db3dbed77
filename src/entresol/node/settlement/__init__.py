"""The settlement layer of an L2, and the workers between the layers."""
