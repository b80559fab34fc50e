"""Complex event processing for Python and Spark."""
