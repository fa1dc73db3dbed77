"""The data a chain publishes on L1, as bytes: block rules, the body of a batch, the genesis; docs/availability.md."""
