"""Records as text: a line each by a format as kcat has them, JSON Lines, CSV."""
