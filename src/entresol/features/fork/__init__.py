"""A remote chain below a local one: what a fork reads of it, and what is cached of that."""
