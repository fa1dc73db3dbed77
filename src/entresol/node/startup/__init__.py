"""What a node reports when it has started: banner and `--config-out`."""
