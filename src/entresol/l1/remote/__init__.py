"""An L1 behind a URL: its JSON-RPC client, and the values of its results."""
