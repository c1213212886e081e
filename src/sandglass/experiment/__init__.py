"""What an experiment file may say, and how it is read or refused."""
