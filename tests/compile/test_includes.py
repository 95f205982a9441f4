"""A source reaches no file but the headers, by its text and by the compiler's own list of opened files."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.backends.emulator.ptx.parser import parse
from engine.backends.emulator.ptx.syntax import InvalidPtx
from engine.compile import includes
from engine.compile.nvrtc import compile_here, compile_source
from engine.records import CompileError, Source

KERNEL = 'extern "C" __global__ void k(int *x) { x[0] = 1; }\n'
SECRET = "a_line_of_another_file"
REFUSED = (
    '#include "/etc/passwd"\n', "#include </etc/passwd>\n", '  #  include "/etc/passwd"\n', '#include"/etc/passwd"\n',
    '#/* */include/**/"/etc/passwd"\n', '/* \n */ #include "/etc/passwd"\n', '/*\n// */ #include "/etc/passwd"\n',
    '#inc\\\nlude "/etc/passwd"\n', '%:include "/etc/passwd"\n', '#define P "/etc/passwd"\n#include P\n',
    '#include_next "/etc/passwd"\n', '#include "../secret.h"\n', '#include "a/../../secret.h"\n',
    '#include ".\\..\\secret.h"\n', '#include "\\\n/etc/passwd"\n',
    '#if __has_include("/etc/passwd")\n#endif\n', 'const char *s = R"(/*)";\n#include "/etc/passwd"\n// */\n',
    '#if __has_include_next("/etc/passwd")\n#endif\n', "#define HAS __has_include\n",
    '#define F "/etc/passwd"\n#if __has_include(F)\n#endif\n', '#if __has_include/**/("/etc/passwd")\n#endif\n',
    *(f'{before}#{gap}include{gap}"/etc/passwd"\n' for before in ("", "\f", "\v") for gap in "\f\v\r"),
    '// a line \\ \n#include "/etc/passwd"\n', '// a line \\\f\n#include "/etc/passwd"\n',
    '#inc\\\r\nlude "/etc/passwd"\n',
    '#define J(a, b) a##b\n#if J(__has_, include)("/etc/passwd")\n#endif\n',
    '#define J(a, b) a%:%:b\n#define I __has\n#if J(I, _include)("/etc/passwd")\n#endif\n',
    '#define J(a, b) a##b\n#define Q J(__has_, include)("/etc/passwd")\n#if Q\n#endif\n',
    '#define J(a, b) a##b\n#define I __has\n#define Q(x) J(x, _include)\n#  elif/**/ Q(I)("/etc/passwd")\n',
    '#define J(a, b) a##b\n#if 0 /*\n*/ || J(__has_, include)("/etc/passwd")\n#endif\n',
    '#include <cuda/std/cstdint>\n#if _CCCL_HAS_INCLUDE("/etc/passwd")\n#endif\n',
    *(f"#if {question}\n#endif\n" for question in (
        'defined(__has_include) && __has_include("/etc/passwd")', "CALL(defined(__has_include))",
        '__has_include("math.h") && __has_include("/etc/passwd")', '__has_include(/* "math.h" */ "/etc/passwd")',
        "CALL defined(__has_include) END",
        "(CALL) defined(__has_include)", "!CALL !defined(__has_include)", "'//' + CALL(defined(__has_include))",
    )),
    '#define A R"(\n// )", __has_include("/etc/passwd")\n', 'int x = __has_include("math.h");\n',
    "#define F(x) \"/etc/passwd\"\n#if __has_include(F(\"math.h\"))\n#endif\n",
    '#include X /* "math.h" */\n', 'int a; /*\n*/ #include "/etc/passwd"\n',
    "#define N 1'0 + '/*'\n#include \"/etc/passwd\"\n// */\n",
)  # fmt: skip
PASSED = (
    '// #include "../book.h"\n', "#include <stdio.h>\n", '#include "math.h"\n', "#include <cooperative_groups.h>\n",
    '#if __has_include("cuda_fp16.h")\n#endif\n', "#ifdef __has_include\n#endif\n",
    "#define OLDER(a, b) (VERSION < (a * 100 + b))\n#define JOIN(a, b) a##b\n#if OLDER(6, 0)\n#endif\n"
    "__device__ int JOIN(_, _x), has, _include, __has_, include, _has, JOIN(__, y);\n",
    "#if defined(__has_include) && __has_include(<cuda/atomic>)\n#endif\n",
    '#ifdef _WIN32\n#include <windows.h>\n#endif\n', '/* see\n * #include "../book.h"\n */\n',
    '__device__ const char *s = "#include \\"/x\\"";\n',
    "#if __cplusplus >= 201703L && !defined(__has_include)\n#endif\n",
    "#define J(a, b) a##b\n#define N 3  // rows\n#if N > 2 && defined(J)\n// __has, then _include\n#endif\n",
    "#if (defined __has_include) && (__has_include(<cuda/atomic>) || X)  // as f(x) has\n#endif\n",
)  # fmt: skip


@pytest.mark.parametrize("head", REFUSED)
def test_no_other_file_is_read(head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("../secret.h").write_text(SECRET)
    with pytest.raises(CompileError) as caught:
        compile_source(Source("mine.cu", head + KERNEL, "int32"), "compute_90")
    assert SECRET not in caught.value.log and "root:" not in caught.value.log
    assert caught.value.line is not None and caught.value.log == str(caught.value)
    lines = head.split("\n")
    assert any(word in lines[caught.value.line - 1].lower() for word in ("include", "#inc", "##", "%:%:"))


@pytest.mark.parametrize(
    "name", ['k<__has_include("/etc/passwd")>', 'k<1>\n#include "/etc/passwd"\n', "k<J(__has_, include)>"]
)
def test_the_name_of_a_kernel_asks_for_no_file(name: str) -> None:
    text = "#define J(a, b) a##b\ntemplate <int A> __global__ void k(int *x) { x[0] = A; }\n"
    with pytest.raises(CompileError) as caught:
        compile_here(Source("mine.cu", text, "", names=(name,), foreign=True), "compute_90")
    assert caught.value.log == str(caught.value)


@pytest.mark.parametrize("head", PASSED)
def test_headers_of_the_include_folders_are_included(head: str) -> None:
    assert b".entry k(" in compile_source(Source("mine.cu", head + KERNEL, "int32"), "compute_90")


@pytest.mark.sampled(quick=4, thorough=3)
@pytest.mark.parametrize("head", REFUSED)
def test_the_list_of_opened_files_decides_alone(head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check of the text, and without Landlock, as the compilation runs in this process."""
    monkeypatch.setattr(includes, "check_includes", lambda source: None)
    (tmp_path / "secret").write_text(SECRET)
    told = []
    for path in (tmp_path / "secret", tmp_path / "none", tmp_path):
        text = head.replace("/etc/passwd", str(path))
        try:
            compile_here(Source("mine.cu", text + KERNEL, "int32", foreign=True), "compute_90")
        except CompileError as error:
            told.append((str(error), error.log.replace(str(path), "")))
    assert SECRET not in str(told)
    if "has_include" not in head and "__has" not in head:  # which the list cannot see
        assert len(set(told)) <= 1, "whether the file exists is not told"


def test_a_file_beside_the_source_is_as_missing_as_any(tmp_path: Path) -> None:
    (tmp_path / "there.h").write_text(SECRET)
    told = []
    for name in ("there.h", "none.h"):
        with pytest.raises(CompileError) as caught:
            text = f'#include "{name}"\n{KERNEL}'
            compile_source(Source(f"{tmp_path}/mine.cu", text, "", foreign=True), "compute_90")
        told.append((str(caught.value).replace(name, ""), caught.value.log.replace(name, "").replace(" ", "")))
    assert told[0] == told[1] and SECRET not in str(told)


@pytest.mark.parametrize(
    "inline", ['.incbin \\"/etc/passwd\\";', 'nop;\\n.file 7 \\"/etc/passwd\\"', '{ .include \\"x\\"; }']
)
def test_inline_ptx_names_no_file(inline: str) -> None:
    text = f'extern "C" __global__ void k(int *x) {{\n  x[0] = 1;\n  asm volatile("{inline}");\n}}\n'
    with pytest.raises(CompileError) as caught:
        compile_here(Source("mine.cu", text, "", foreign=True), "compute_90")
    assert caught.value.line == 3


@pytest.mark.parametrize("hidden", ["// end inline asm\\n", "/* */ ", "L: ", "nop; // end inline asm\\n"])
@pytest.mark.parametrize("directive", ['.incbin \\"x\\";', '.file 7 \\"x\\";', ".section .debug_str { };"])
def test_a_hidden_directive_is_not_called_valid(hidden: str, directive: str) -> None:
    text = KERNEL.replace("x[0] = 1;", f'asm volatile("{hidden}{directive}");')
    with pytest.raises((CompileError, InvalidPtx)):
        ptx = compile_here(Source("mine.cu", text, "", foreign=True), "compute_90").ptx
        parse(ptx.decode(), "mine.cu")


def test_inline_ptx_may_declare_registers() -> None:
    text = KERNEL.replace(
        "x[0] = 1;", 'asm volatile("{ .reg .b32 r; mov.b32 r, 1; st.global.b32 [%0], r; }" :: "l"(x));'
    )
    assert b".entry k(" in compile_here(Source("mine.cu", text, "", foreign=True), "compute_90").ptx
