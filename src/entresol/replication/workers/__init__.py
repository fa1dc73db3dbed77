"""Resources that a producer and the workers on its machine share: a channel, a page of memory, events, messages."""
