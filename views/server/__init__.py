"""The server beside its pages: start, entry page, static files, endpoints, navigation."""
