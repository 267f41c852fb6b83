"""Where the service keeps what it knows: an embedded database, Redis, or a store of your own."""
