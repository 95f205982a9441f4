"""The kernels of a source and their parameters: their names in the file, and the types of the compiled kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.catalogue.entries import MAX_BLOCK
from engine.lab.top_level import (
    EXPLICIT,
    Declaration,
    after_template,
    blanked,
    body_start,
    declarations,
    expanded,
    is_left_out,
    parts,
    template_parameters,
    uncommented,
)
from engine.records import NotRunnable

_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]+)(\d+)[^,\[\n]*?\s(\w+)(?:\[(\d+)\])?\s*(?:,|$)")
_ATTRIBUTE = re.compile(
    r"\b(?:__(?:launch_bounds|cluster_dims|block_size|attribute|align)__|__(?:attribute|declspec)|alignas)\s*\("
)
_ABOUT = re.compile(r"\[\[[^\[\]]{0,99}\]\]|__(?:grid_constant|restrict)__|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_ASSIGNED = re.compile(r"(?<![\w.\]])(\w+)\s*=(?!=)\s*([^;]{1,300})")
_INDEX = re.compile(r"\[([^\[\];]{0,200}(?:\[[^\[\];]{0,200}\][^\[\];]{0,200})?)\]")

_PRODUCT = re.compile(r"\(?(?:(\d+)\s*\*\s*([\w.]+)|([\w.]+|\([^()]{0,80}\))\s*\*\s*(\w+))\)?")
_NUMBER = re.compile(
    r"^[ \t]*(?:#[ \t]*define|(?:static[ \t]+)?const(?:expr)?[ \t]+(?:unsigned(?:[ \t]+int)?|int|size_t|u?int32_t))"
    r"[ \t]+(\w+)[ \t=]+(\d+)(?=[ \t]*(?:[;,]|//|/\*|\r?$))",
    re.MULTILINE,
)
_OWN_THREAD = re.compile(r"(\w+)\s*=\s*(?:\(\s*\w+\s*\)\s*)?threadIdx\s*\.\s*x\s*[;,]")
_WRITES = re.compile(r"(?:\s*\[[^\[\]]{0,200}\]|\.\w+)*\s*(?:(?:<<|>>|[-+*/%&|^])?=(?!=)|\+\+|--)")
_ASKED = re.compile(r"((?:\w*::)+)?(\w+)\s*(<.*>)?\s*(\(.*\))?", re.DOTALL)
_LAST = "int|float|double|char|short|long|bool|unsigned|signed|const"  # words that are no parameter's name
_SPECIAL = re.compile(r"template\s*<\s*>")  # for some arguments of a template
_LONGEST_INDEX, _LONGEST_ATTRIBUTE = 400, 1000


@dataclass(frozen=True)
class Parameter:
    """A parameter of a compiled kernel. `kind`: "f" float, "u" or "s" integer or address, "b" bytes, such as a struct.

    `size` in bytes; `name`: its name in the file, or its index; `element`: NumPy's name of what it points to, "" if
    unknown.
    """

    name: str
    kind: str
    size: int
    element: str = ""


@dataclass(frozen=True)
class Declared:
    """A kernel of a text: its parameters' names, each parameter as written, its template parameters, and its
    namespaces. `line`: of its declaration; `defined`: it has a body."""

    parameters: tuple[str, ...]
    written: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    scope: str = ""
    line: int = 0
    defined: bool = True


def kernels_in(text: str) -> dict[str, Declared]:
    """Return every kernel that the text declares, by name; of several with one name the first that an #if does not
    leave out."""
    found: dict[str, Declared] = {}
    starts: dict[str, int] = {}
    for one in declarations(text):
        if "__global__" in one.words and one.called:
            head, named = _head(text, one)
            if named:
                inside = _bracketed(head[named.end() :])
                written = tuple(part.strip() for part in parts(inside))
                names = tuple(_name_of(part) for part in written)
                own = tuple(" ".join(part.split()) for part in template_parameters(text, one))
                line = text.count("\n", 0, one.start) + 1
                made = Declared(names, written, own, one.scope, line, one.body)
                if found.setdefault(named[1], made) is not made and is_left_out(text, starts[named[1]]):
                    found[named[1]] = made
                if found[named[1]] is made:
                    starts[named[1]] = one.start
                if one.body and not found[named[1]].defined:  # a declaration need not name its parameters
                    found[named[1]] = replace(found[named[1]], parameters=names, written=written, defined=True)
    return found


def with_c_name(text: str, kernel: str) -> str:
    """Return the text with `extern "C"` before the kernel, whose name the compiler then keeps.

    The lines keep their numbers. A template, a static kernel and one that a macro makes stay as they are.
    """
    for one in reversed(declarations(text)):
        plain = "__global__" in text[one.start : one.end] and not {"extern", "template", "static"} & set(one.words)
        if plain and one.called and function_name(text, one) == kernel:
            text = f'{text[: one.start]}extern "C" {text[one.start :]}'
    return text


def function_name(text: str, one: Declaration) -> str:
    """Return the name of the function `one`."""
    named = _head(text, one)[1]
    return named[1] if named else ""


def _head(text: str, one: Declaration) -> tuple[str, re.Match[str] | None]:
    """Return what stands before the body of a function, without attributes, and its name with the bracket after it."""
    end = body_start(text, one) if one.body else one.end
    head = _plain(text[after_template(text, one) : end if text[end : end + 1] == "{" else one.end])
    if "__global__" in one.words:
        for word in ("__global__", "__launch_bounds__", "##"):
            head = expanded(head, word, text)
        head = _plain(head)
        head = head.partition("__global__")[2] or head
    return head, re.search(r"(\w+)\s*(?:<[^<>()]{0,200}>\s*)?\(", head)  # also f<3>( of a specialisation


def _plain(head: str) -> str:
    """Return a declaration without attributes and comments."""
    head = _DIRECTIVE.sub(" ", _ABOUT.sub(" ", head))
    while found := _ATTRIBUTE.search(head):
        inside = _bracketed(head[found.end() : found.end() + _LONGEST_ATTRIBUTE])
        head = f"{head[: found.start()]} {head[found.end() + len(inside) + 1 :]}"
    return head


def is_read(text: str, kernel: str, parameter: str) -> bool:
    """Return whether a kernel reads elements of a pointer or of a pointer into it, other than to add to them."""
    bodies = (text[one.start : one.end].partition("{")[2] for one in declarations(text) if kernel in one.words)
    for body in map(uncommented, bodies):
        inside = re.findall(rf"\*\s*(?:const\s+)?(\w+)\s*=\s*&?\s*{parameter}\s*[\[+;]", body)
        for found in re.finditer(rf"(?<![\w.&])(?:{'|'.join([parameter, *inside])})\s*\[", body):
            after = found.end() + len(_bracketed(body[found.end() : found.end() + _LONGEST_INDEX], "[]")) + 1
            if not _WRITES.match(body, after):
                return True
    return False


def bare(kernel: str) -> str:
    """Return a kernel's name without template arguments, namespaces and a list of parameters."""
    return re.split(r"[<(]", kernel, maxsplit=1)[0].strip().rpartition("::")[2]


def only_kernel(text: str, file_name: str, name: str) -> tuple[str, str]:
    """Return the text without the other kernels that share the name, and the name without a list of parameters.

    `name`: "scale(double *, int)" or "own::scale" chooses among kernels with one name, "scale<4>" among templates; all
    are one if `name` is "scale". NotRunnable: no kernel of this name has these parameters or this namespace.
    """
    asked = _ASKED.fullmatch(name.strip())
    if asked is None or (asked[1] is None and asked[3] is None and asked[4] is None):
        return text, name
    scope, plain, arguments, listed = asked[1], asked[2], asked[3] or "", asked[4]
    every = [one for one in namesakes(text) if function_name(text, one) == plain]
    templates = [one for one in every if one.words[:1] == ("template",)] if arguments else []
    wanted = None if listed is None else [_squeezed(one.replace("[]", "*")) for one in parts(listed[1:-1])]
    kept = [
        one
        for one in templates or every
        if (scope is None or f"::{one.scope}::".endswith(f"::{scope}".replace("::::", "::")))
        and (wanted is None or _has_parameters(_written(text, one), wanted))
    ]
    if every and not kept:
        *first, last = (f"{called_in_full(text, one)} in line {text.count(chr(10), 0, one.start) + 1}" for one in every)
        listed = f"{', '.join(first)} and {last}" if first else last
        raise NotRunnable(f"{file_name} has no kernel named {name}; it has {listed}.")
    for one in every:
        text = text if one in kept else blanked(text, one.start, one.end)
    own = f"{kept[0].scope}::{plain}" if kept and scope and kept[0].scope else plain
    return text, f"{own}{arguments}"


def namesakes(text: str) -> list[Declaration]:
    """Return the kernels of a text in order, without instances and specialisations of templates, and without those that
    an #if leaves out."""
    return [
        one
        for one in declarations(text)
        if "__global__" in one.words
        and one.called
        and not EXPLICIT.match(text, one.start)
        and not _SPECIAL.match(text, one.start)
        and not is_left_out(text, one.start)
    ]


def called_in_full(text: str, one: Declaration) -> str:
    """Return the name by which `only_kernel` finds a kernel: with its namespaces and the types of its parameters."""
    scope = f"{one.scope}::" if one.scope else ""
    return f"{scope}{function_name(text, one)}({', '.join(map(_type_of, _written(text, one)))})"


def _written(text: str, one: Declaration) -> list[str]:
    """Return the parameters of a function as the file writes them."""
    head, named = _head(text, one)
    return [part.strip() for part in parts(_bracketed(head[named.end() :]))] if named else []


def _type_of(parameter: str) -> str:
    """Return a parameter as written, without its name: `float *` of `float a[]`."""
    whole = " ".join(re.sub(r"=.*", "", parameter, flags=re.DOTALL).split())
    named, array = re.fullmatch(r"(.*?)((?: ?\[[^\]]*\])*)", whole).groups()  # type: ignore[union-attr]
    kind = re.sub(rf"(?<=[\w>*& ])\b(?!(?:{_LAST})\b)\w+$", "", named).strip()
    return f"{kind} *" if array else kind


def _has_parameters(written: Sequence[str], wanted: Sequence[str]) -> bool:
    return len(written) == len(wanted) and all(
        each in (_squeezed(own), _squeezed(_type_of(own))) for own, each in zip(written, wanted, strict=True)
    )


def _squeezed(parameter: str) -> str:
    """Return a type in one spelling."""
    plain = re.sub(r"\bunsigned int\b", "unsigned", re.sub(r"\b__restrict(?:__)?(?=\W|$)", " ", parameter))
    return re.sub(r"\s*([*&<>,:])\s*", r"\1", " ".join(plain.split()))


def parameters(ptx: str, symbol: str, names: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Return the parameters of the compiled kernel `symbol`; `names`: their names in the file."""
    found = re.search(rf"\.entry {re.escape(symbol)}\s*\((.*?)\)\s*(?:\.|\{{)", ptx, re.DOTALL)
    rows = _PARAMETER.findall(found[1]) if found else []
    if len(rows) != len(names):
        names = tuple(f"argument {number}" for number in range(1, len(rows) + 1))
    return tuple(
        Parameter(name, kind[0], int(bits) // 8 * int(count or 1))
        for name, (kind, bits, _, count) in zip(names, rows, strict=True)
    )


def index_arrays(text: str, names: Sequence[str]) -> set[str]:
    """Return the arrays of `names` whose elements the text uses as indices, directly or by way of variables."""
    assigned = [(found[1], found[2]) for found in _ASSIGNED.finditer(text)]
    indices = " ".join(_INDEX.findall(text))
    return {name for name in names if re.search(_of_elements(name, assigned), indices)}


def strides(text: str, kernel: str, array: str, numbers: Sequence[str]) -> list[str]:
    """Return those of the kernel's `numbers` that multiply in the indices of an array: one of a matrix by rows."""
    body = body_of(text, kernel)
    assigned = _ASSIGNED.findall(body)
    found = indices_of(body, array) + [
        value for _, value in assigned if re.search(rf"(?<![\w.]){array}\s*\+", value)
    ]  # a pointer into it
    known: set[str] = set()
    while words := {word for one in found for word in re.findall(r"[A-Za-z_]\w*", one)} - known:
        known |= words
        found += [value for name, value in assigned if name in words]
    every = "\n".join(found)
    return [one for one in numbers if re.search(rf"(?<![\w.]){one}\s*\*|\*\s*{one}\b", every)]


def multiple(text: str, kernel: str, array: str) -> int:
    """Return how many neighbouring elements of an array a thread uses: 3 of `a[3 * i + 1]`; 1 if nothing says it."""
    body = body_of(text, kernel)
    values = dict(_ASSIGNED.findall(body))
    inside = [found[1] for one in values.values() if (found := re.match(rf"&?\s*{array}\s*\+(.*)", one))]
    parts_of = [one for index in (*indices_of(body, array), *inside) for one in index.split("+")]
    every = [values.get(one.strip(), one) for one in parts_of]
    known = numbers_in(text)
    most = 1
    for found in filter(None, (_PRODUCT.fullmatch(one.strip()) for one in every)):
        name, times = (found[2], found[1]) if found[1] else (found[3], known.get(found[4], found[4]))
        guarded = re.search(rf"(?<!\w){re.escape(found[0])}[^;{{}}]{{0,40}}<", body)
        if times in ("2", "3", "4") and not name.startswith(("blockIdx", "blockDim")) and not guarded:
            most = max(most, int(times))
    return most


def block_in(text: str, kernel: str, numbers: Mapping[str, str]) -> int | None:
    """Return the threads of a block that a kernel of one dimension is made for, if its text says so: by an index that
    it computes from them, by its steps, by a block-wide function of CUB, or by an array with one element per thread.

    `numbers`: the names that are whole numbers, with their digits.
    """
    body = body_of(text, kernel)
    thread = "|".join([r"threadIdx\s*\.\s*x\b", *(rf"\b{name}\b" for name in _OWN_THREAD.findall(body))])
    size = r"\(?\s*\b(\w+)\b(?:\s*\*\s*\d+)?\s*\)?"
    shared = re.findall(r"__shared__\s+(?:[\w:]+\s+){1,3}(\w+)\s*\[\s*(\w+)\s*\]\s*[;,]", body)
    found = [
        *re.findall(rf"blockIdx\s*\.\s*x\s*\*\s*{size}\s*\+\s*(?:{thread})", body),
        *re.findall(rf"{size}\s*\*\s*blockIdx\s*\.\s*x\s*\)?\s*\+\s*(?:{thread})", body),
        *re.findall(rf"(?:{thread})\s*\+\s*\(?\s*blockIdx\s*\.\s*x\s*\*\s*{size}", body),
        *re.findall(rf"(?:{thread})\s*\+\s*{size}\s*\*\s*blockIdx\b", body),
        *re.findall(rf"=\s*(?:{thread})\s*;[^;{{}}]{{0,200}};[^;{{}}]{{0,40}}\+=\s*(\w+)\s*\)", body),
        *re.findall(r"\bcub::Block\w+\s*<[^<>;,]{1,80},\s*(\w+)\s*[,>]", body),
        *(length for name, length in shared if re.search(rf"\b{name}\s*\[\s*(?:{thread})\s*\]", body)),
    ]
    sizes = (numbers.get(one, one) for one in found)
    return next((int(one) for one in sizes if one.isdecimal() and 1 < int(one) <= MAX_BLOCK), None)


def is_bounded_by_product(text: str, kernel: str, numbers: Sequence[str]) -> bool:
    """Return whether a kernel compares an index with the product of two of its numbers, as rows and columns of a matrix
    that one row of threads walks through."""
    products = re.findall(r"(?<!<)(?:<|>=)\s*\(?\s*(\w+)\s*\*\s*(\w+)\b(?!\s*[\[(.])", body_of(text, kernel))
    return any(one != other and {one, other} <= {*numbers} for one, other in products)


def ends_with_next(text: str, kernel: str, array: str) -> bool:
    """Return whether a kernel uses an element and the next one as the ends of a range, as the rows of a sparse
    matrix."""
    body = body_of(text, kernel)
    nexts = {found[1] for one in indices_of(body, array) if (found := re.fullmatch(r"\s*(\w+)\s*\+\s*1\s*", one))}
    return (
        any(one.strip() in nexts for one in indices_of(body, array)) and re.search(r"\b(for|while)\b", body) is not None
    )


def numbers_in(text: str) -> dict[str, str]:
    """Return the macros and constants of a text that are whole numbers, with their digits."""
    return {found[1]: found[2] for found in _NUMBER.finditer(text)}


def body_of(text: str, kernel: str) -> str:
    """Return the bodies of the kernel's definitions without comments."""
    bodies = [text[one.start : one.end].partition("{")[2] for one in declarations(text) if kernel in one.words]
    return uncommented("".join(bodies))


def indices_of(body: str, array: str) -> list[str]:
    """Return what stands between the brackets behind an array."""
    found = re.finditer(rf"(?<![\w.]){array}\s*\[", body)
    return [_bracketed(body[one.end() : one.end() + _LONGEST_INDEX], "[]") for one in found]


def _of_elements(array: str, assigned: Sequence[tuple[str, str]]) -> str:
    """Return a pattern of the array's elements and of the variables that get their values."""
    element, variables = rf"\b{array}\s*\[", set[str]()
    while True:
        pattern = "|".join((element, *(rf"\b{name}\b" for name in sorted(variables))))
        more = {name for name, value in assigned if re.search(pattern, value)} - variables
        if not more:
            return pattern
        variables |= more


def _bracketed(text: str, brackets: str = "()") -> str:
    depth = 1
    for place, letter in enumerate(text):
        depth += (letter == brackets[0]) - (letter == brackets[1])
        if not depth:
            return text[:place]
    return text


def _name_of(parameter: str) -> str:
    words = re.findall(r"\w+", re.sub(r"\[[^\]]*\]|=.*", "", parameter))
    return words[-1] if words else "argument"
