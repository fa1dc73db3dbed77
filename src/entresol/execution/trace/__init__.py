"""Reading the output of tracers."""
