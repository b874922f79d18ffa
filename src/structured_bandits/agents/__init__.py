"""Running a policy live: ask which arm, tell the reward."""
