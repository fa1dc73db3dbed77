"""RPC methods by namespace; each is a few lines that neither parse nor format."""
