"""The site: its pages, and what runs in them; made by tools/build_site.py."""
