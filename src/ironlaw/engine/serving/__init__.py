"""Requests that arrive, wait and are served: laws of queues, lines request by request, servers that batch."""
