"""What several RPC methods share."""
