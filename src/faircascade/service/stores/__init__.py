"""Where the service keeps what it knows: an embedded database, or Redis."""
