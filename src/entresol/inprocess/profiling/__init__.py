"""What the contracts of a devnet do, counted while a program uses it."""
