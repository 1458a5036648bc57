"""The one mark that tells an error the user caused from a defect of ours."""


class UserError(Exception):
    """Something the user can put right. The message is the whole explanation; the command line shows it alone."""
