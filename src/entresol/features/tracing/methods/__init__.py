"""The RPC methods that trace."""
