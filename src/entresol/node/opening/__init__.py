"""Open the chains of a node: genesis, data directory, rules, mining."""
