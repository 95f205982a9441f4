"""What `zipfile` raises for an archive that is damaged, encrypted, or packed in a way that it does not know."""

from __future__ import annotations

import zipfile
import zlib

UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)
