"""HTTP/1.1 and WebSocket server on one port, for handlers of JSON documents."""
