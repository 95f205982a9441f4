"""The animation of one block, as a component of the page: plain JavaScript modules, no packages."""
