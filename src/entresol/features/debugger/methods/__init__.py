"""The RPC methods of the debugger."""
