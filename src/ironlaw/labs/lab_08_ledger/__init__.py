"""Lab 08, The Memory Ledger."""
