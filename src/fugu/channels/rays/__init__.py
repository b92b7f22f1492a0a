"""One pair of laws: channels of least loss from columns with one or two points."""
