"""Events of a product (feedback, changes of items, erasures) brought to a service that runs."""
