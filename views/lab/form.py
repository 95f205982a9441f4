"""The form that describes how a pasted kernel is launched: grid, block, each parameter, and the right answer."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st

from engine.lab.arguments import ARRAY, FILLS
from engine.lab.formula import parse
from engine.lab.host_launch import launch_in_text
from engine.lab.instances import USUAL_TYPE, guessed_types, instance
from engine.lab.references import REFERENCES
from engine.lab.setups import Formula, Right, Setup, fit_setup, propose_setup
from engine.lab.signatures import Declared, bare, kernels_in
from engine.lab.top_level import parts
from engine.records import NotRunnable
from views.lab.drafts import Draft
from views.shared import messages
from views.shared.messages import code, label

Container = st.delta_generator.DeltaGenerator
TYPES = ("float32", "float64", "float16", "int32", "uint32", "int64", "int16", "uint8", "int8", "bool")
OTHER_TYPES = ("double", "int", "unsigned int")  # for a template's type that the file does not tell
NOTHING = "nothing: show the first elements"
FORMULA = "a line of NumPy"
FORMULA_HELP = "Of the parameters as they were before the launch: a * x + y, x.sum(), A @ B, x[1:] - x[:-1], softmax(x)"
_NOTHING = "nothing"
_FILL = (
    "Choose, or type a number. An array that is filled with nothing starts with zeros; the check also tries other "
    "numbers in it if the kernel only stores to it."
)
COMPUTED = "A number, or computed from n and block: (n + block - 1) / block"


def ask(draft: Draft) -> Setup | None:
    """Show the form and return the setup. None, with a sentence, if the source has no kernel."""
    setup = draft.setup
    try:
        setup = fitted(setup, draft.text) if setup else propose_setup(draft.text)
    except NotRunnable as refused:
        messages.warning(str(refused))
        return None
    with st.expander(
        f"Launch  {code(setup.call)}" + (f"  and expect  {code(str(setup.right))}" if setup.right else ""),
        key="launchform",
    ):
        if setup.assumed:
            st.caption(label(setup.assumed))
        setup = _kernel(draft, setup)
        declared = kernels_in(draft.text)[bare(setup.kernel)]
        # Another kernel, or one with other parameters, gets another form.
        form = f"{draft.id} {setup.kernel} {' '.join(declared.parameters)}"
        setup = _arguments(form, _launch(form, setup), declared)
        return replace(setup, right=_right(form, setup, declared))


def fitted(setup: Setup, text: str) -> Setup:
    """Return the setup as it fits the text's kernel. Another file with a launch of its own gets that launch.
    NotRunnable: the text has no kernel."""
    names = kernels_in(text)
    if bare(setup.kernel) not in names and any(launch_in_text(text, name) for name in names):
        return propose_setup(text)
    return fit_setup(setup, text)


def _kernel(draft: Draft, setup: Setup) -> Setup:
    """Choose the kernel, if there are several, and a template's arguments."""
    kernels = kernels_in(draft.text)
    if len(kernels) == 1 and not any(one.template for one in kernels.values()):
        return setup
    own = bare(setup.kernel)
    types = guessed_types(draft.text, setup.kernel, kernels[own])
    if types:
        st.caption(label(f"The file does not say which type {' or '.join(types)} is: {USUAL_TYPE} is taken. "
                         "Choose the kernel with another type below."))  # fmt: skip
    others = [instance(draft.text, own, kernels[own], kind) for kind in OTHER_TYPES] if types else []
    names = list(dict.fromkeys([setup.kernel, *kernels, *filter(None, others)]))
    kernel = st.selectbox("Kernel", names, 0, key=f"{draft.id} kernel of {' '.join(kernels)}", accept_new_options=True,
                          help="A template with its arguments: sum<float, 128>")  # fmt: skip
    if not kernel or kernel == setup.kernel:
        return setup
    proposed = propose_setup(draft.text, kernel)
    same = bare(kernel) == bare(setup.kernel)
    return replace(setup, kernel=kernel, arguments=proposed.arguments) if same else proposed


def _launch(form: str, setup: Setup) -> Setup:
    columns = st.columns([1.6, 1, 1.2], vertical_alignment="bottom")
    with columns[0]:
        grid = _words(
            "Grid (blocks)", f"{form} grid", ", ".join(setup.grid), f"{COMPUTED}. Of two sizes: n / 16, n / 16"
        )
    with columns[1]:
        block = _words("Block (threads)", f"{form} block size", ", ".join(setup.block), "256, or of two sizes: 16, 16")
    with columns[2]:
        shared = _words(
            "Shared memory (bytes)", f"{form} shared", setup.shared, "What extern __shared__ gets: 4 * block"
        )
    cooperative = st.checkbox("Cooperative launch", setup.cooperative, key=f"{form} cooperative",
                              help="All blocks at once, for grid.sync()")  # fmt: skip
    return replace(setup, grid=_parts(grid), block=_parts(block), shared=shared, cooperative=cooperative)


def _arguments(form: str, setup: Setup, declared: Declared) -> Setup:
    made = []
    for name, written, words in zip(declared.parameters, declared.written, setup.arguments, strict=False):
        found = ARRAY.fullmatch(words)
        if found and ("*" in written or "[" in written):
            made.append(_array(f"{form} {name}", name, found))
        else:
            made.append(_words(label(name), f"{form} {name}", words, COMPUTED))
    return replace(setup, arguments=tuple(made))


def _array(key: str, name: str, found: re.Match[str]) -> str:
    columns = st.columns([1, 1.6, 1], vertical_alignment="bottom")
    fill = found[3] or _NOTHING
    kinds, fills = _with(TYPES, found[1]), _with((_NOTHING, *FILLS), fill)
    with columns[0]:
        kind = st.selectbox(f"{label(name)}: type", kinds, kinds.index(found[1]), key=f"{key} type")
    with columns[1]:
        size = _words(f"{label(name)}: size", f"{key} size", found[2], f"{COMPUTED}; of a matrix: n, n")
    with columns[2]:
        filled = st.selectbox(f"{label(name)}: filled with", fills, fills.index(fill), key=f"{key} fill",
                              accept_new_options=True, help=_FILL)  # fmt: skip
    return f"{kind}[{size}]" if filled == _NOTHING else f"{kind}[{size}]={filled}"


def _right(form: str, setup: Setup, declared: Declared) -> Right | Formula | None:
    arrays = [name for name, words in zip(declared.parameters, setup.arguments, strict=False) if ARRAY.fullmatch(words)]
    now, options = setup.right, [NOTHING, FORMULA, *REFERENCES]
    chosen = NOTHING if now is None else FORMULA if isinstance(now, Formula) else now.reference
    columns = st.columns([1.5, 1, 2], vertical_alignment="bottom")
    with columns[0]:
        name = st.selectbox("What is right", options, options.index(chosen), key=f"{form} right",
                            format_func=lambda one: REFERENCES[one].title if one in REFERENCES else one)  # fmt: skip
    if name == FORMULA and arrays:
        return _formula(form, now if isinstance(now, Formula) else None, arrays, columns)
    if name not in REFERENCES or not arrays:
        return None
    now = None if isinstance(now, Formula) else now
    reference, same = REFERENCES[name], now if now and now.reference == name else None
    plain = (*arrays[: len(reference.reads)], *(f"{value:g}" for _, value in reference.numbers))
    given = (*same.given, *plain[len(same.given) :]) if same else plain
    with columns[1]:
        place = arrays.index(now.out) if now and now.out in arrays else len(arrays) - 1
        out = st.selectbox("in the array", arrays, place, key=f"{form} {name} out")
    with columns[2]:
        wanted = ", ".join((*reference.reads, *(number for number, _ in reference.numbers)))
        said = _words(f"made of {wanted}", f"{form} {name} of", ", ".join(given), reference.meaning)
    return Right(str(out), str(name), _parts(said))


def _formula(form: str, now: Formula | None, arrays: list[str], columns: list[Container]) -> Formula | None:
    """Ask for the array and the line of NumPy that it must equal."""
    with columns[1]:
        place = arrays.index(now.out) if now and now.out in arrays else len(arrays) - 1
        out = st.selectbox("in the array", arrays, place, key=f"{form} formula out")
    with columns[2]:
        line = st.text_input("A line of NumPy", now.line if now else "", key=f"{form} formula", placeholder=arrays[0],
                             help=FORMULA_HELP)  # fmt: skip
    if not line.strip():
        return now
    try:
        parse(line)
    except NotRunnable as refused:
        messages.warning(str(refused))
        return now
    return Formula(str(out), line.strip())


def _words(title: str, key: str, value: str, help: str) -> str:
    return str(st.text_input(title, value, key=key, help=help) or value).strip()


def _parts(words: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in parts(words))


def _with(options: tuple[str, ...], value: str) -> list[str]:
    return [*options, *([value] if value not in options else [])]
