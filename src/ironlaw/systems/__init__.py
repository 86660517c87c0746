"""Systems: what the engine's laws say about a model, machines and people's traffic put together with the registry's figures."""
