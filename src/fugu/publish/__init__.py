"""Release of whole columns of a table."""

from fugu.publish.column import release_column as release_column
