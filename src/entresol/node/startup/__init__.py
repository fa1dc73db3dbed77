"""What a node reports when it has started: the banner, and the file of `--config-out`."""
