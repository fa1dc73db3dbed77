"""One chain of either layer: genesis, ledger, mempool, block builder, fees and events."""
