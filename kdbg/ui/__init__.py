"""What a person uses: the command line, the screens, the guide."""
