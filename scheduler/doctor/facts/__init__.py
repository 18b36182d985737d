"""Looks at a node, one family of facts a file. What cannot be known is None or empty; nothing here judges."""
