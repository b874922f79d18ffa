"""The client of a service: an agent's interface here, its decisions and its data over HTTP."""
