"""What fugu writes down: sealed documents with a schema, a kind and a digest, and what each kind must hold."""
