"""bench scale: what weir holds in memory for its connections."""
