"""What makes the site of docs/: the menu, the links that also work on a code host, and the pages that are generated."""
