"""The HTTP interface: endpoints, and what stands before them."""
