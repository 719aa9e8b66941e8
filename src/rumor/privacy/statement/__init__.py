"""A collection for people who decide: one page, a consent text, an entry for a registry."""
