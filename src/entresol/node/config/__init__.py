"""The configuration: its schema, and how flags, environment and TOML fill it."""
