"""Large captures on several cores: parts of a capture decoded by processes that do not know what came before them."""
