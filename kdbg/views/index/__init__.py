"""An index of a capture: of each exchange what filters compare, and where its bytes are in the file.

A complete reading of a large capture writes it (writer.py, places.py) into the user's cache folder
(cache.py); the next one reads the exchanges that may match, and no others (reader.py, block.py). layout.py has the form
of the file. Where the capture has grown, the writing goes on at its checkpoint.py.
"""
