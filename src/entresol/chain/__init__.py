"""One chain, either layer: genesis, head, mempool, block producer, fees and log index."""
