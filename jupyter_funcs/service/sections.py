"""What the sections of a configuration are made of: strict tables, and the types that TOML has no word for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationInfo


class Section(BaseModel):
    """A table of the configuration: takes its own keys only, and each as it is typed in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _not_empty(value: Any) -> Any:
    if value == "":
        raise ValueError("is empty.")
    return value


def _resolved(path: Path, info: ValidationInfo) -> Path:
    """Paths are relative to the folder of the file that names them."""
    return (info.context or Path()) / path.expanduser()


Name = Annotated[str, BeforeValidator(_not_empty)]
FilePath = Annotated[Path, Strict(strict=False), BeforeValidator(_not_empty), AfterValidator(_resolved)]
Names = Annotated[tuple[Name, ...], Strict(strict=False)]
FilePaths = Annotated[tuple[FilePath, ...], Strict(strict=False)]
SomeNames = Annotated[tuple[Name, ...], Strict(strict=False), Field(min_length=1)]
