"""What each kind of source sends for hundreds of forms, recorded in bodies.txt and compared."""
