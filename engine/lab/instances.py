"""Find the kernel that a user means, and the instance of a template: "reduce6<float, 256>", as the file launches it.

An instance is read from the host code without parsing C++: the arguments of the first launch whose names all have a
meaning outside the launching function. Arguments that a launch leaves to the compiler follow from the passed values.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from engine.lab.error_reasons import why_no_kernel
from engine.lab.signatures import Declared, bare, function_name, kernels_in
from engine.lab.top_level import (
    EXPLICIT,
    Declaration,
    closing,
    closing_bracket,
    declarations,
    directives,
    expanded,
    parts,
    template_parameters,
    uncommented,
)
from engine.records import NotRunnable

USUAL_TYPE, USUAL_SIZE = "float", "128"  # if the file names none
_FUNCTOR = "Functor"
_MOST_LISTED = 20
_DEEPEST = 6  # aliases
_MOST_PLACES = 64  # the index of a name
_MOST_NAMES = 200  # names that are looked up for a kernel
_BEFORE = 120  # characters before a constant's name that can hold its type
_IN_VECTORS = (
    "char",
    "short",
    "int",
    "long",
    "longlong",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "ulonglong",
    "float",
    "double",
)
_BUILT_IN = frozenset((
    "bool", "char", "short", "int", "long", "float", "double", "half", "unsigned", "signed", "size_t", "true", "false",
    "sizeof", "const", "void", "__half", "__nv_bfloat16", "nv_bfloat16", "half2", "__half2", "__nv_bfloat162", "std",
    "uchar", "ushort", "uint", "ulong", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t",
    "uint64_t", "cuFloatComplex", "cuDoubleComplex", "cuComplex",
    *(f"{kind}{size}" for kind in _IN_VECTORS for size in range(1, 5)),
))  # fmt: skip
_WORD = re.compile(r"(?<![\w.])(?<!::)[A-Za-z_]\w*")  # of Op::Add the first
_C_TYPE = r"\b((?:(?:unsigned|signed|long|short)\s+){0,3}\w+)"  # of several words, such as unsigned long long
_ENUMERATORS = re.compile(r"\benum\b[^;{}()]{0,100}\{([^{}]{0,4000})\}")


@dataclass(frozen=True)
class WantedKernel:
    """A kernel to compile. `name`: a template's with its arguments; `parameters`: their names in the file; `scope`: its
    namespaces; `guessed`: see `guessed_types`; `written`: the parameters of a kernel that has the name of one of CUDA's
    own functions, such as any."""

    name: str
    parameters: tuple[str, ...]
    scope: str
    guessed: tuple[str, ...] = ()
    written: tuple[str, ...] | None = None

    @property
    def expression(self) -> str:
        """The compiler's name for it."""
        name = f"{self.scope}::{self.name}" if self.scope and not self.name.startswith(self.scope) else self.name
        return name if self.written is None else f"(void (*)({', '.join(self.written)}))::{name}"


def named_kernel(text: str, file_name: str, name: str | None) -> WantedKernel:
    """Return the kernel that the user means. Its name may be omitted if there is only one, and a template's arguments
    if the file launches it.

    `name` may have a namespace. NotRunnable: the text has no such kernel.
    """
    kernels = kernels_in(text)
    listed = ", ".join([*list(kernels)[:_MOST_LISTED], *(["…"] if len(kernels) > _MOST_LISTED else [])])
    if not kernels:
        raise why_no_kernel(file_name, text)
    if name is None:
        own = {each: one for each, one in kernels.items() if one.defined}
        if len(own) > 1 and all(one.template and instance(text, each, one) is None for each, one in own.items()):
            first, declared = next(iter(own.items()))
            raise NotRunnable(
                f"{file_name} has only templates ({listed}) and does not tell their arguments: name one with them, "
                f"such as {first}<{_usual(declared)}>."
            )
        if len(kernels) > 1 and own:
            raise NotRunnable(f"{file_name} has several kernels: name one of {listed}.")
        name = next(iter(kernels))
    if bare(name) not in kernels:
        raise NotRunnable(f"{file_name} has no kernel named {bare(name)}; it has {listed}.")
    declared = kernels[bare(name)]
    if not declared.defined:
        raise NotRunnable(only_declared(file_name, bare(name), declared), declared.line)
    called = _completed(text, name, declared) if declared.template else name
    if called is None:
        raise NotRunnable(_unnamed(text, file_name, bare(name), declared))
    guessed = guessed_types(text, name, declared)
    return WantedKernel(called, declared.parameters, declared.scope, guessed)


def _completed(text: str, name: str, declared: Declared) -> str | None:
    """Return a template kernel with all of its arguments. Types that `name` omits follow from the launch of the file;
    None: the file does not tell the arguments."""
    if "<" not in name:
        return instance(text, name, declared)
    given = [one.strip() for one in parts(name.partition("<")[2].rpartition(">")[0])]
    more = [one for one in declared.template[len(given) :] if "=" not in one and "..." not in one]
    deduced, open_types = _File(text).deduced(bare(name), declared) if more else ({}, set())
    if not more or not all(_type_parameter(one) and _name(one) not in open_types for one in more):
        return name
    return f"{name.partition('<')[0]}<{', '.join((*given, *(deduced[_name(one)] for one in more)))}>"


def every_kernel(text: str) -> list[WantedKernel]:
    """Return the kernels of a text, without templates whose arguments the text does not give."""
    kernels = kernels_in(text)
    called = {name: instance(text, name, one) if one.template else name for name, one in kernels.items()}
    return [
        WantedKernel(called[name] or "", one.parameters, one.scope, guessed_types(text, name, one))
        for name, one in kernels.items()
        if called[name] and one.defined
    ]


def only_declared(file_name: str, name: str, declared: Declared) -> str:
    """Return the sentence about a kernel without a body."""
    return f"{file_name}, line {declared.line}: {name} is only declared here, and its body is in another file."


def typed_parameters(text: str, name: str, declared: Declared) -> tuple[str, ...]:
    """Return the parameters as written, with a template's types in place of their names."""
    types = {_name(one) for one in declared.template if _type_parameter(one)}
    meant = {own: value for own, value in template_values(text, name, declared).items() if own in types}
    return tuple(_WORD.sub(lambda word: meant.get(word[0], word[0]), written) for written in declared.written)


def template_values(text: str, name: str, declared: Declared) -> dict[str, str]:
    """Return the arguments of a template kernel by parameter: those of `name`, or those that the file gives."""
    called = name if "<" in name else instance(text, name, declared) if declared.template else None
    given = parts(called.partition("<")[2].rpartition(">")[0]) if called else []
    return {_name(one): value for one, value in zip(declared.template, given, strict=False)}


def _lambda_line(text: str, name: str) -> int | None:
    """Return the line of the lambda that the first launch of a kernel passes, directly or by its name."""
    code = uncommented(text)
    launch = re.search(rf"(?<![\w.]){name}\s*<<<[^;]{{0,400}}?>>>\s*\(", code)
    passed = parts(code[launch.end() : closing_bracket(code, launch.end()) - 1]) if launch else []
    for one in map(str.strip, passed):
        named = re.search(rf"\bauto\s+{one}\s*=\s*\[", code) if re.fullmatch(r"\w+", one) else None
        if launch and (one.startswith("[") or named):
            return code.count("\n", 0, named.start() if named else launch.start()) + 1
    return None


def _unnamed(text: str, file_name: str, name: str, declared: Declared) -> str:
    if (line := _lambda_line(text, name)) is not None:
        what = f"{file_name}, line {line}: {name} gets a lambda, whose type has no name"
        return f"{what}; pass a struct with operator() in its place."
    called = _File(text).called_types(declared)
    where = f", where {_FUNCTOR} is a struct with operator(), as a lambda's type has no name" if called else ""
    usual = _usual(declared, called)
    return f"{name} in {file_name} is a template: name it with its arguments, such as {name}<{usual}>{where}."


def _usual(declared: Declared, called: Collection[str] = ()) -> str:
    """Return examples of a template's arguments. `called`: the types of function objects."""
    wanted = list(declared.template)
    while wanted and _default(wanted[-1]):
        wanted.pop()
    return ", ".join(
        _default(one) or ((_FUNCTOR if _name(one) in called else USUAL_TYPE) if _type_parameter(one) else USUAL_SIZE)
        for one in wanted
    )


def guessed_types(text: str, name: str, declared: Declared) -> tuple[str, ...]:
    """Return the template parameters whose type the file does not tell: USUAL_TYPE takes their place."""
    if not declared.template or "<" in name:
        return ()
    guessed = _instance(_File(text), name, declared)[1]
    return tuple(own for one in declared.template if (own := _name(one)) in guessed)


def instance(text: str, name: str, declared: Declared, usual: str = USUAL_TYPE) -> str | None:
    """Return the template kernel `name` with arguments; None if the file does not give them. `usual`: the type where
    the file does not tell it."""
    return _instance(_File(text, usual), name, declared)[0]


def _instance(file: _File, name: str, declared: Declared) -> tuple[str | None, set[str]]:
    """Return `instance`, and the template parameters whose types are guessed for it."""
    wanted = [_type_parameter(one) for one in declared.template]
    called = file.called_types(declared)
    for arguments, at in file.uses(name):
        found, guessed = [], set[str]()
        for one, own, type_wanted in zip(arguments, declared.template, wanted, strict=False):
            before = file.guesses
            found.append(file.meant(one, at, type_wanted))
            guessed |= {_name(own)} if file.guesses > before else set()
        if len(found) == len(arguments) and all(found) and not guessed & called:
            more = [one for one in declared.template[len(found) :] if "=" not in one and "..." not in one]
            deduced, open_types = file.deduced(name, declared)  # from the values that are passed
            following = [deduced.get(_name(one)) for one in more]
            if None not in following:
                guessed |= {_name(one) for one in more} & open_types
                return f"{name}<{', '.join(map(str, (*found, *following)))}>", guessed
    deduced, open_types = file.deduced(name, declared)
    given = [
        deduced.get(_name(one)) if is_type else None for one, is_type in zip(declared.template, wanted, strict=True)
    ]
    while given and given[-1] is None and "=" in declared.template[len(given) - 1]:
        given.pop()
    given = [one or _default(own) for one, own in zip(given, declared.template, strict=False)]  # before a deduced one
    return None if None in given else f"{name}<{', '.join(map(str, given))}>", open_types


class _File:
    """A text without comments, and the meaning of its names."""

    def __init__(self, text: str, usual: str = USUAL_TYPE) -> None:
        self.usual = usual
        self.text = expanded(expanded(uncommented(text), "<<<", text), "##", text)
        self.declared = declarations(text if len(self.text) == len(text) else self.text)  # a macro moves the places
        self.macros = directives(self.text)
        self.outside = {word for one in self.declared if not (one.called and one.body) for word in one.words}
        self.looked_up = 0
        self.guesses = 0  # types that the file does not tell
        of_device = (one for one in self.declared if one.called and "__device__" in one.words)
        self.outside |= {function_name(self.text, one) for one in of_device}
        self.outside |= {word for found in _ENUMERATORS.findall(self.text) for word in _WORD.findall(found)}
        self.outside |= set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", self.text, re.MULTILINE))

    def uses(self, name: str) -> Iterator[tuple[list[str], int]]:
        """Return the template arguments after each use of a name, and the index of the use."""
        for found in self._places(rf"(?<![\w.]){name}\s*<(?![<=])"):
            end = closing(self.text, found.end() - 1)
            if end > found.end():
                yield [" ".join(one.split()) for one in parts(self.text[found.end() : end - 1])], found.start()

    def meant(self, argument: str, at: int, type_wanted: bool, depth: int = 0) -> str | None:
        """Return the value of a template argument at an index of the text, with the given values for its function's own
        names."""
        made = argument
        for word in dict.fromkeys(_WORD.findall(argument)):
            value = self._value(word, at, type_wanted, depth)
            if value is None:
                return None
            if value != word:
                made = re.sub(rf"(?<![\w.])(?<!::){word}\b", value, made)
        return made

    def called_types(self, declared: Declared) -> set[str]:
        """Return the template's types whose values are called: a function object is no number."""
        called = {one for one in map(_name, declared.written) if re.search(rf"(?<![\w.]){one}\s*\(", self.text)}
        words = {word for each in declared.written if _name(each) in called for word in _WORD.findall(each)}
        return words & {_name(one) for one in declared.template if _type_parameter(one)}

    def deduced(self, name: str, declared: Declared) -> tuple[dict[str, str], set[str]]:
        """Deduce a template's types by name from the types of the values that a launch passes; return them, and the
        names of those that are guessed."""
        types = {_name(one) for one in declared.template if _type_parameter(one)}
        made = dict.fromkeys(types - self.called_types(declared), self.usual)
        guessed = set(made)
        for found in self._places(
            rf"(?<![\w.]){name}\s*(?:<(?!<)[^;{{}}()]{{0,200}}>\s*)?<<<[^;]{{0,400}}?>>>\s*\(([^;]{{0,1000}})\)\s*;"
        ):
            for passed, written in zip(parts(found[1]), declared.written, strict=False):
                for word in (_name(one) for one in declared.template if _type_parameter(one)):
                    if re.search(rf"\b{word}\b", written):
                        given = passed.strip()
                        kind = (
                            self._pointed(given)
                            if re.search(r"[*\[]", written)
                            else self._type_of(given, found.start())
                        )
                        if kind:
                            made[word] = kind
                            guessed.discard(word)
            break
        return made, guessed

    def _value(self, word: str, at: int, type_wanted: bool, depth: int) -> str | None:
        if word in _BUILT_IN:
            return word
        around = next((one for one in self.declared if one.start <= at < one.end), None)
        own = [_name(one) for one in template_parameters(self.text, around)] if around else []
        self.looked_up += 1
        if depth >= _DEEPEST or self.looked_up > _MOST_NAMES:
            return None
        if word in own and around is not None:
            return self._handed(around, own.index(word), type_wanted, depth)
        if word in self.outside or (around and EXPLICIT.match(self.text, around.start)):
            return word  # of an explicit instance, perhaps a name of a header that is not here
        for found in self._places(rf"(?<![\w.]){word}\s*(?:=(?!=)\s*([^;]{{1,200}})|\{{([^{{}}]{{1,200}})\}})\s*[;,]"):
            before = re.split(r"[;{}()]", self.text[max(0, found.start() - _BEFORE) : found.start()])[-1]
            if re.search(r"\b(?:const|constexpr|using)\b", before):
                whole = found[1] or found[2]
                first = (
                    next(iter(parts(whole)), "") if whole.count("<") == whole.count(">") else whole.partition(",")[0]
                )
                value = self.meant(" ".join(first.split()), found.start(), type_wanted, depth + 1)
                if value is not None:
                    return value if type_wanted else f"({value})"
        self.guesses += type_wanted
        return self.usual if type_wanted else None

    def _handed(self, around: Declaration, place: int, type_wanted: bool, depth: int) -> str | None:
        """Return the arguments with which a host template function is called, for its parameter at `place`."""
        name = next(
            (one for one in around.words if re.search(rf"\b{one}\s*\(", self.text[around.start : around.end])), ""
        )
        for arguments, at in self.uses(name) if name else ():
            if place < len(arguments) and not around.start <= at < around.end:
                value = self.meant(arguments[place], at, type_wanted, depth + 1)
                if value is not None:
                    return value
        default = template_parameters(self.text, around)[place].partition("=")[2].strip()
        self.guesses += type_wanted and not default
        return default or (self.usual if type_wanted else None)

    def _pointed(self, passed: str) -> str | None:
        """Return the type to which the passed pointer points, if it is a C type: that of `x`, `x + 4`, `&x[4]`, or of
        `x[4]`, an element of an array of pointers."""
        found = re.fullmatch(r"(&?)\s*(\w+)\s*(\[[^\[\]]*\])?\s*(?:[+-][^?:]*)?", passed)
        if not found or (found[1] and not found[3]):
            return None
        name, element = found[2], found[3] and not found[1]
        declared = rf"(?:\*\s*{name}\b|{name}\s*\[)" if element else rf"{name}\b(?!\s*\[)"
        for found in self._places(rf"{_C_TYPE}\s*\*\s*(?:\w+\s*(?:=\s*\w+\s*)?,\s*\*\s*){{0,8}}{declared}"):
            if set(found[1].split()) <= _BUILT_IN - {"void", "const"}:
                return " ".join(found[1].split())
        return None

    def _type_of(self, passed: str, at: int) -> str | None:
        """Return the type of a value at an index: a number, `Type(...)`, or a variable."""
        if found := re.fullmatch(r"-?\d+(\.?)\d*(?:e-?\d+)?(f?)", passed):
            return "float" if found[2] else "double" if found[1] else "int"
        types = {word for one in self.declared if one.kind == "type" for word in one.words} - {"struct", "class"}
        made = re.match(r"([A-Za-z_]\w*)\s*(<[^;<>]{0,80}>)?\s*[({]", passed)
        if made and made[1] in types:
            return made[1] + (made[2] or "")
        if not re.fullmatch(r"\w+", passed):
            return None
        nearest = None
        kind = r"((?:(?:unsigned|signed|long|short)\s+){0,3}[A-Za-z_]\w*(?:<[^;<>]{0,80}>)?)"
        for found in self._places(rf"\b{kind}\s+(?:\w+\s*(?:=[^,;(]{{0,80}})?,\s*){{0,8}}{passed}\s*[;=,({{)]"):
            if found.start() < at and set(found[1].partition("<")[0].split()) <= (_BUILT_IN | types) - {
                "void",
                "const",
            }:
                nearest = str(found[1])
        return nearest

    def _places(self, pattern: str) -> Iterator[re.Match[str]]:
        """Return the places of a pattern, those in macros last: a macro's use tells more than its definition."""
        found = list(islice(re.finditer(pattern, self.text), _MOST_PLACES))
        return iter(sorted(found, key=lambda place: self._in_macro(place.start())))

    def _in_macro(self, at: int) -> bool:
        number = bisect_right(self.macros, (at, len(self.text))) - 1
        return number >= 0 and at < self.macros[number][1]


def _type_parameter(written: str) -> bool:
    return re.match(r"\s*(?:typename|class)\b", written) is not None


def _default(written: str) -> str | None:
    return written.partition("=")[2].strip() or None


def _name(written: str) -> str:
    words: list[str] = re.findall(r"\w+", written.partition("=")[0])
    return words[-1] if words else ""
