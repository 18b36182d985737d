"""The brain and the face of Tierwise: the command line and what stands behind it."""

__version__ = "0.1.0"
