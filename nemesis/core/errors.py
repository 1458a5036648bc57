"""The base class of errors that the user can fix."""


class UserError(Exception):
    """An error that the user can fix. The command line shows its message without a traceback."""
