"""What leaves the house: the release document around sealed certificates, and the files it binds."""
