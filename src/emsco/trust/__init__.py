"""What may be promised about new rows: reliability, and risk against coverage."""
