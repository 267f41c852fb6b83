"""Where the service keeps what it knows: a file, Redis, PostgreSQL, or a store of your own."""
