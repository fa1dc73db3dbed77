"""JSON-RPC: protocol, parameter types, rendering, caches, services, subscriptions, namespaces."""
