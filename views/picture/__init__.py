"""The picture of a block in motion, as a component of the page: plain JavaScript modules, no packages."""
