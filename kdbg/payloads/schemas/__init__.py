"""Where schemas come from: files that were named, folders and dumps of a registry, a registry that is asked.

Its answers are remembered. What is asked over the network is asked by `client`, which is handed in.
"""
