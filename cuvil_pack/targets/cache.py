"""Compiled programs on disk, named by what they were made of, bounded, the least recently used first to go."""

import os
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

LIMIT_BYTES = 512 << 20


def cache_folder() -> Path:
    """CUVIL_CACHE_DIR, or `cuvil` in the user's cache folder."""
    chosen = os.environ.get("CUVIL_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cuvil"


@dataclass(frozen=True)
class ObjectCache:
    """A folder of entries `<key>`: SHA-256 of the object, then the object."""

    folder: Path
    limit: int = LIMIT_BYTES

    def load(self, key: str) -> bytes | None:
        path = self.folder / key
        try:
            entry = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        data = entry[32:]
        return data if sha256(data).digest() == entry[:32] else None

    def store(self, key: str, data: bytes) -> None:
        """Keeps the object; a folder that cannot be written keeps nothing."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix=".new-", delete=False) as file:
                file.write(sha256(data).digest() + data)
            Path(file.name).replace(self.folder / key)
            self._shrink()
        except OSError:
            return

    def _shrink(self) -> None:
        with os.scandir(self.folder) as entries:
            files = sorted((entry.stat().st_mtime_ns, entry.stat().st_size, entry.path) for entry in entries)
        excess = sum(size for _, size, _ in files) - self.limit
        for _, size, path in files:
            if excess <= 0:
                return
            Path(path).unlink(missing_ok=True)
            excess -= size
