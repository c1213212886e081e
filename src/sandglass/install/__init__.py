"""What has to be on a machine: the lab kernel, modules, packages and programs."""
