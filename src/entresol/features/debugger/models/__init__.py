"""The results of the methods of the debugger."""
