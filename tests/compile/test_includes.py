"""What a source must not include is refused before the compiler sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.compile.nvrtc import compile_source
from engine.records import CompileError, Source

KERNEL = 'extern "C" __global__ void k(int *x) { x[0] = 1; }\n'
SECRET = "a_line_of_another_file"
REFUSED = (
    '#include "/etc/passwd"\n', "#include </etc/passwd>\n", '  #  include "/etc/passwd"\n', '#include"/etc/passwd"\n',
    '#/* */include/**/"/etc/passwd"\n', '/* \n */ #include "/etc/passwd"\n', '/*\n// */ #include "/etc/passwd"\n',
    '#inc\\\nlude "/etc/passwd"\n', '%:include "/etc/passwd"\n', '#define P "/etc/passwd"\n#include P\n',
    '#include_next "/etc/passwd"\n', '#include "../secret.h"\n', '#include "a/../../secret.h"\n',
    '#include "secret.h"\n', '#include ".\\..\\secret.h"\n', '#include "\\\n/etc/passwd"\n',
    '#if __has_include("/etc/passwd")\n#endif\n', 'const char *s = R"(/*)";\n#include "/etc/passwd"\n// */\n',
    '#if __has_include_next("/etc/passwd")\n#endif\n', "#define HAS __has_include\n",
    '#define F "/etc/passwd"\n#if __has_include(F)\n#endif\n', '#if __has_include/**/("/etc/passwd")\n#endif\n',
    "#define N 1'0 + '/*'\n#include \"/etc/passwd\"\n// */\n",
)  # fmt: skip
PASSED = (
    '// #include "../book.h"\n', "#include <stdio.h>\n", '#include "math.h"\n', "#include <cooperative_groups.h>\n",
    '#if __has_include("cuda_fp16.h")\n#endif\n', "#ifdef __has_include\n#endif\n",
    "#if defined(__has_include) && __has_include(<cuda/atomic>)\n#endif\n",
    '#ifdef _WIN32\n#include <windows.h>\n#endif\n',
)  # fmt: skip


@pytest.mark.parametrize("head", REFUSED)
def test_no_other_file_is_read(head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place in ("secret.h", "../secret.h"):
        Path(place).write_text(SECRET)
    with pytest.raises(CompileError) as caught:
        compile_source(Source("mine.cu", head + KERNEL, "int32"), "compute_90")
    assert SECRET not in caught.value.log and "root:" not in caught.value.log
    assert caught.value.line is not None and caught.value.log == str(caught.value)
    lines = head.splitlines()
    assert any(word in lines[caught.value.line - 1] for word in ("include", "#inc"))


@pytest.mark.parametrize("head", PASSED)
def test_headers_of_the_include_folders_are_included(head: str) -> None:
    assert b".entry k(" in compile_source(Source("mine.cu", head + KERNEL, "int32"), "compute_90")
