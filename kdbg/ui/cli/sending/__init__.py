"""What `kdbg send` is made of: options, the request they come to, the session that sends it, what is shown of it."""
