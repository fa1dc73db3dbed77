"""The profile of the contracts of a devnet, counted while a program uses it."""
