"""Units, and what belongs to them: data files for `headrace systemd-files`."""
