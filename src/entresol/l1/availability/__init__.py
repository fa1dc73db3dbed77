"""The data and the genesis that a chain publishes on L1, and how to find it there."""
