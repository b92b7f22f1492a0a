"""What leaves a channel of whole numbers: sums of its columns, exactly."""
