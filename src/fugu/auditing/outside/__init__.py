"""What lies outside a document and can be held against it: published files, data, reference, ledger, a second proof."""
