"""What `seesay tune` chooses on dev after training: one module, and pure functions, for each table."""
