"""The subcommands of `python -m tinyjax`: each module has add_arguments(parser) and run(options)."""
