"""How far to trust a cascade on new rows: reliability, and risk against coverage."""
