"""The digit classifier under attack: readers, attacks, and the tables that a lab shows of them."""
