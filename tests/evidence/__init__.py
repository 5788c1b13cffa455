"""What kdbg's two generated tables are made of: which release has which version, and what has proved which.

    python -m tests.evidence                    write both anew, but for what needs Java
    python -m tests.evidence java               ask the classes of Kafka's releases as well
    python -m tests.evidence java brokers       and send every version to a broker of every release

kdbg reads them in grammars/generated, and the tests hold them to what they were made of. What a run cannot find
out stays as it was, and the run says so.
"""
