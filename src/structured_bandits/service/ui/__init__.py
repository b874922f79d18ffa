"""The pages that people see: dashboard and explorer."""
