"""JSON-RPC: declaration, dispatch, server, filters, namespaces."""
