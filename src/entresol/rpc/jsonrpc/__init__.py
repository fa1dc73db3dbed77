"""JSON-RPC 2.0: method declaration, dispatch, batches, parameters, errors, OpenRPC."""
