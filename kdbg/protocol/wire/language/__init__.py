"""The words grammars are written in: types, version words, payloads, and the Api that ties them together."""
