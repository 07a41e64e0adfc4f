"""A file of JSON that says what a folder holds, from anybody, or from a newer tennis."""

import errno
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from tennis.kit.errors import RallyError
from tennis.rally.disk import open_below
from tennis.rally.text import plain

Model = TypeVar("Model", bound=BaseModel)
WORDS_MAX = 80


@dataclass(frozen=True)
class RecordFile:
    """A file of JSON: its path, kind, newest readable schema, and limit in bytes.

    All methods raise RallyError, one line that says what is wrong; ``next_step`` says what helps.
    """

    path: Path
    what: str
    schema: int
    size_max: int
    next_step: str = "use the original folder"

    def read(self) -> bytes:
        """Return its bytes. Raises FileNotFoundError, too."""
        try:
            with open_below(self.path.parent, self.path.name) as file:
                return file.read(self.size_max + 1)
        except FileNotFoundError:
            raise
        except OSError as error:
            a_link = error.errno == errno.EINVAL
            then = "copy the folder with its real files" if a_link else "check its permissions"
            raise RallyError(
                f"cannot read {self.path} ({error.strerror})", next_step=then
            ) from error

    def content(self, text: bytes) -> dict[str, Any]:
        """Return the JSON object of a text, unchecked, unless a newer tennis wrote it."""
        if len(text) > self.size_max:
            raise RallyError(
                f"{self.path} is larger than {self.size_max >> 20} MiB: it was not written by "
                "tennis",
                next_step=self.next_step,
            )
        try:
            content = from_json(text)
        except ValueError as error:
            raise RallyError(f"{self.path} is not JSON", next_step=self.next_step) from error
        if not isinstance(content, dict):
            raise RallyError(
                f"{self.path} is not a {self.what} of schema {self.schema}",
                next_step=self.next_step,
            )
        version = content.get("schema_version")
        if isinstance(version, int) and version > self.schema:
            raise RallyError(
                f"{self.path} was written by a newer tennis (schema {version}, this one reads "
                f"{self.schema})",
                next_step="update tennis",
            )
        return content

    def checked(self, model: type[Model], text: bytes) -> Model:
        """Parse a text as a model."""
        try:
            return model.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = plain(".".join(map(str, first["loc"])), WORDS_MAX)
            raise RallyError(
                f"{self.path} is not a {self.what} of schema {self.schema} ({where!a}: "
                f"{first['msg']})",
                next_step=self.next_step,
            ) from error


def seal_of(content: dict[str, Any]) -> str:
    """Return the seal of a file's content: its SHA-256, however the JSON is laid out."""
    sealed = {key: value for key, value in content.items() if key != "seal"}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
