"""One chain, either layer: genesis, head, mempool, producer, fees and events."""
