"""The books: what was spent on which data, across processes and crashes."""
