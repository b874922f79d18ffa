"""An agent that lives in a service: its interface here, its decisions and its data over HTTP."""
