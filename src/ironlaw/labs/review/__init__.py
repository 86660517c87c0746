"""The review: cards, concept map, mental models, fusion tree, beliefs, checklist, prompts."""
