"""Exchanges to walk through on a terminal: a table of them, the fields of one as a tree, and its bytes beside it.

What goes in is an `ExchangeFeed`: another process reads the capture and gives a row for each exchange; the messages
wait in a file without a name. What comes out is a screen. Nothing here reads captures; the parts that draw import
Textual.
"""
