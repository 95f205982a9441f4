"""What a browser has chosen, and the runs it waits for."""
