"""The methods, by namespace and noun: each a few lines that parse nothing and format nothing."""
