"""Pictures of results: ROOT's canvases, legends and texts, painted by matplotlib when they are saved."""
