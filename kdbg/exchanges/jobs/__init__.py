"""Work on several cores (`--jobs`): copies of this process, and exchanges that they work on."""
