"""What several widgets stand on: the mount, the bundle, the tokens, the base class."""
