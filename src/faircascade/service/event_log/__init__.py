"""The event log of the service: written from the journal of its store."""
