"""The RPC API of a chain: the services that methods share, and the namespaces that are made of them."""
