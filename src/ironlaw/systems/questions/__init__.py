"""The questions that commands, studies and `import ironlaw` ask; a file each."""
