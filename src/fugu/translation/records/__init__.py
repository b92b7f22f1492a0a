"""What releases about independent records are worth together, by the law of one record given each secret."""
