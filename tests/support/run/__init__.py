"""Settings of a whole run of the tests: its files, its ports, its tiers, how many examples it tries."""
