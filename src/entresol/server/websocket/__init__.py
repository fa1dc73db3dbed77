"""WebSocket connections: the handshake, and frames and messages after it."""
