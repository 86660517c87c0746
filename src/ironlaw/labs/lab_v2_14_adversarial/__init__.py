"""Lab V2-14, Claimed, Attacked, Paid For."""
