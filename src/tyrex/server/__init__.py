"""The server: the engine behind HTTP, with a log that survives crashes."""
