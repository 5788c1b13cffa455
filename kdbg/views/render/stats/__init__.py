"""Numbers over exchanges as a person or a program reads them: tables, the first screen, JSON Lines, CSV."""
