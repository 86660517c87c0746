"""Numbers in few bits: grids and their noise, what a format takes to store, what is worth having."""
