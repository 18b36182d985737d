"""The command line: one module a sub-command, mounted together in `scheduler.cli.app`."""
