"""One chain of either layer: genesis, ledger, mempool, block producer, fees and events."""
