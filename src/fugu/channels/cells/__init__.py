"""Any pairs of point laws: channels of least loss, cell by cell."""
