"""Models of what is rendered as text: they describe results in the OpenRPC document, and no request builds one."""
