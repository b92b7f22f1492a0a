"""The studio: a page on one's own computer for whoever answers for a release, and for whoever checks one.

The web process holds no table: it knows who may speak (`guard`), and hands requests on (`app`) to processes that can be
stopped (`jobs`), which do the work and draw the screens (`work`). A private table is opened by two of them alone: the
release, and its owner's look at it."""
