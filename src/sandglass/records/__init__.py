"""What a run left, as tables and numbers."""
