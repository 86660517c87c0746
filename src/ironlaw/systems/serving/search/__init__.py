"""How many devices a load of requests needs: what is drawn, the ways to serve that are tried, and the rows of the answer."""
