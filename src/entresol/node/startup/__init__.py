"""The report of a node that has started: the banner, and the file of `--config-out`."""
