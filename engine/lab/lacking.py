"""Which header declares what a text lacks: it is included only once it is missed, as most take long to compile.

nvcc lets kernels use what is constant, or for both sides, of the C++ library; and what lies beside a file, or a library
of the host's, as a rule includes the headers of CUDA's number types.
"""

from __future__ import annotations

import re

_OF_STD = re.compile(r'namespace "std" has no (?:actual )?member "(\w+)"')
_NAME = re.compile(r'(?:identifier|incomplete type) "(\w+)" is (?:undefined|not allowed)')
_STD = (
    ("limits", r"numeric_limits"),
    ("algorithm", r"min|max|clamp"),
    ("utility", r"pair|make_pair|swap|exchange|declval|(?:make_)?i\w+_sequence(?:_for)?|as_const|byte"),
    ("tuple", r"(?:make_)?tuple\w*|get|tie|apply|ignore"),
    ("array", r"array"),
    ("complex", r"complex|norm|conj|polar|real|imag|arg"),
    ("functional", r"plus|minus|multiplies|divides|modulus|negate|less\w*|greater\w*|(?:not_)?equal_to|logical_\w+"),
    ("type_traits", r"is_\w+|conditional\w*|enable_if\w*|remove_\w+|add_\w+|make_(?:un)?signed\w*|decay\w*|void_t|"
     r"integral_constant|bool_constant|true_type|false_type|underlying_type\w*|invoke_result\w*|common_type\w*"),
)  # fmt: skip
_NUMBERS = (
    ("cuda_fp16.h", r"(?:__)?half2?|__(?:float|u?int|u?short|lows?|highs?)2?half\w*|__half\w+|__h[a-z]+2?"),
    ("cuda_bf16.h", r"(?:__)?nv_bfloat162?|__\w*bfloat16\w*"),
    ("cuComplex.h", r"cu(?:Float|Double)?Complex|make_cu\w*Complex|cuC(?:add|mul|sub|div|abs|fma|real|imag|onj)f?"),
)  # fmt: skip


def missed_name(sentence: str) -> str | None:
    """The name that an error of the compiler's says is unknown."""
    found = _NAME.search(sentence)
    return found[1] if found else None


def header_for(sentence: str, passed_over: bool) -> str | None:
    """The header that declares what the error lacks. `passed_over`: some headers of the file's are not here."""
    of_std, name = _OF_STD.search(sentence), missed_name(sentence)
    table, wanted = (_STD, of_std[1]) if of_std else (_NUMBERS if passed_over else (), name or "")
    return next((header for header, names in table if re.fullmatch(names, wanted)), None)
