"""Generated transactions, run by the engine and by anvil."""
