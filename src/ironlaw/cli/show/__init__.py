"""What the commands print: tables, lines and prompts. Nothing here computes; a command hands over what there is to show."""
