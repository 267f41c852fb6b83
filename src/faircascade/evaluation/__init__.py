"""What a log says: who got exposure, and what another policy would have got."""
