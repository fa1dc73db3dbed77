"""What a chain publishes on L1, and what L1 says of how it does."""
