"""The pages in a real Chromium. A package, so that browser and server end with its last test."""
