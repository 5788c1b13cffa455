"""The damage harness: captures damaged in seeded ways, and what is lost, invented and told of them.

`python -m tests.damage` prints the table of the manual's page on damage; `--all` reads ../shared/captures as well.
"""
