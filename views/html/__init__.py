"""HTML of the pages: pure functions of records."""
