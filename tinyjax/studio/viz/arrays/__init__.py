"""Arrays and pytrees as pictures: as HTML for pages and notebooks, and as text for a terminal."""
