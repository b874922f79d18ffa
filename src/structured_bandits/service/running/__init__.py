"""The experiments that are running: commands, new versions, and what is known of them."""
