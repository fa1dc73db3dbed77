"""`entresol_` methods about accounts and tokens: what the explorer asks, for other tools, too."""
