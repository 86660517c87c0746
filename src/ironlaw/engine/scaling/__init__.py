"""How much faster the whole gets: Amdahl, Gustafson, Karp and Flatt, the Universal Scalability Law, stages in turn and overlapped."""
