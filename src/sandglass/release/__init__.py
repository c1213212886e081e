"""What is published of Sandglass."""
