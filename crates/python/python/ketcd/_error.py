"""The errors of `ketcd`."""


class Error(Exception):
    """A question has no answer. `message` says why, `hint` what to do next, if that is known."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}; {self.hint}"


class NotFound(Error):
    """What was asked for is not there. `hint` says where it is instead, if it is anywhere."""
