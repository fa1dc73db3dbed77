"""Genesis: accounts, state and header that a chain starts with."""
