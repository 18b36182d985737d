"""The systemd units that a site runs Tierwise's daemons with: templates, what fills them, and their installation."""

from scheduler.service.units import UNITS, Site, installed_command, render, systemd_version

__all__ = ["UNITS", "Site", "installed_command", "render", "systemd_version"]
