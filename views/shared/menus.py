"""The row of menus that pages share: N, block size, type, cache state, combining, grid, device.

Options come from the catalogue. An option that a kernel cannot run stays in the menu and is refused with a sentence; no
choice is changed silently.
"""

from __future__ import annotations

import streamlit as st

from engine.backends.emulator.state.schedule import parse_schedule
from engine.catalogue import Kernel, Topic
from engine.catalogue.entries import Parameter
from engine.history.history import recorded_of
from engine.history.records import records
from engine.plan import check_here, gpu_here, plan
from engine.records import C_TYPES, CACHE_STATES, COMBINES, DEVICES, NotRunnable, Settled
from engine.records.words import size_text, whole_number
from engine.service import service
from views.shared import address
from views.shared.messages import label

AUTO, NONE = "auto", "none"
RECORD = "record"  # the name in the address
LOCKSTEP = "lockstep"
SCHEDULES = (LOCKSTEP, "independent:1", "independent:2", "independent:3", "waves:1", "waves:8")
DEVICE_WORDS = {"auto": "automatic", "gpu": "GPU", "emulator": "emulator"}


def select(title: str, name: str, options: list[str], default: str, words: dict[str, str] | None = None,
           new: bool = False, help: str | None = None) -> str:  # fmt: skip
    """Show a menu; a value from the address that is no option is shown as it is, and refused in words.

    The browser remembers an option by its words, so an option's words must never change.
    """
    if st.session_state.get(name) in (None, ""):
        st.session_state[name] = default
    if st.session_state[name] not in options:
        options = [*options, st.session_state[name]]
    words = words or {}
    value = st.selectbox(title, options, options.index(st.session_state[name]), key=name, help=help,
                         format_func=lambda text: words.get(text, text), accept_new_options=new)  # fmt: skip
    return str(value or default)


def size(topic: Topic) -> str:
    """Show the menu for N with the lectures' own sizes; any number can be typed."""
    offered = sorted({*topic.sizes, *(ladder.n for ladder in topic.ladders)})
    sizes = [str(n) for n in offered]
    words = {str(n): f"{n:,} = {size_text(n)}" if size_text(n).startswith("2^") else f"{n:,}" for n in offered}
    recorded = recorded_of(topic.name, chosen_record() or None)
    words = {text: f"{word} ●" if int(text) in recorded else word for text, word in words.items()}
    return select(topic.size_label, "n", sizes, str(topic.default_n), words, new=True,
                  help="Choose, or type any whole number: 1000, 2^20 or 4M. ● has recorded times.")  # fmt: skip


def block_size(topic: Topic) -> str:
    """Show the menu for the block size; another one can be typed if a kernel of the topic may take it."""
    every = sorted({size for entry in topic.kernels for size in entry.offered_block_sizes})
    label, _, unit = topic.block_label.partition(" (")
    typed = any(entry.needs is not None for entry in topic.kernels)
    told = [f"In {unit.removesuffix(')')}."] * bool(unit) + ["Choose, or type another number."] * typed
    return select(label, "block", [str(b) for b in every], str(topic.default_block_size), new=typed,
                  help=" ".join(told) or None)  # fmt: skip


def element_type(topic: Topic) -> str:
    """Show the menu for the element type."""
    names = [name for name in C_TYPES if any(name in entry.dtypes for entry in topic.kernels)]
    return select("Type", "dtype", names, topic.kernels[0].dtypes[0])


def cache_state() -> str:
    """Show the menu for the state of the L2 cache before each timed launch."""
    meaning = (
        "What the GPU's L2 cache holds before each timed launch. cold-clean: other data, already written back. "
        "cold-dirty: other data that must be written back first. hot: the input itself."
    )
    return select("L2 cache", "cache", list(CACHE_STATES), CACHE_STATES[0], help=meaning)


def device() -> str:
    """Show the menu for the device. Without a GPU, "gpu" stays an option and is refused with a sentence."""
    found = service.gpus()
    words = {**DEVICE_WORDS, "auto": f"automatic: {'GPU' if found else 'emulator'}"}
    models = {f"gpu:{gpu.name}": gpu.name for gpu in found}
    several = list(models) if len(models) > 1 else []
    return select("Device", "device", [*DEVICES, *several], AUTO, words | models,
                  help=label(f"This machine: {service.device_summary()}."))  # fmt: skip


def record() -> None:
    """Show the menu for the GPU whose recorded runs are shown, if there are several."""
    if offers_record():
        known = records()
        select("Recorded on", RECORD, list(known), next(iter(known), NONE),
               {name: one.title for name, one in known.items()},
               help="The GPU whose recorded runs are shown; the page This machine adds others.")  # fmt: skip


def offers_record() -> bool:
    """Return whether pages show the menu of records."""
    return len(records()) > 1 or bool(st.session_state.get(RECORD))


def chosen_record() -> str:
    """Return the record of the menu or of the address; "" is the first one."""
    chosen = str(st.session_state.get(RECORD) or "")
    return "" if chosen == next(iter(records()), NONE) else chosen


def known_record(name: str) -> str | None:
    """Return a record's name for a `Choice`, None for the first one. NotRunnable: there is no such record."""
    if name and name not in records():
        raise NotRunnable(f"There is no record {name[:40]!r} here: choose {', '.join(records())}.")
    return name or None


def combining(kernel: Kernel, own: str | None) -> str:
    """Show the menu for how blocks are combined; "automatic" means the rung's `own` way."""
    chosen = st.session_state.get("combine") or AUTO
    now = (own or kernel.combines[0]) if chosen == AUTO else chosen
    if kernel.combines == ("none",) and chosen == AUTO:
        st.selectbox("Combined by", ["nothing to combine"], disabled=True, key="combine fixed",
                     help="Each block of this kernel writes to its own place.")  # fmt: skip
        return AUTO
    ways = " ".join(f"**{way}**: {COMBINES[way]}" for way in kernel.combines)
    return select(f"Combined by: {label(str(now))}", "combine", [AUTO, *kernel.combines], AUTO, {AUTO: "automatic"},
                  help=f"How the sums of the blocks are combined. {ways}")  # fmt: skip


def grid_size(kernel: Kernel) -> str:
    """Show the menu for the number of blocks, enabled only if the kernel strides over the grid."""
    if kernel.coverage is not None and st.session_state.get("grid") in (None, "", AUTO):
        st.selectbox("Grid size (blocks)", ["follows from N"], disabled=True, key="grid fixed",
                     help="Only a kernel that strides over the grid lets you choose the number of blocks.")  # fmt: skip
        return AUTO
    sizes = map(str, (1, 32, *(gpu_here().multiprocessors << times for times in range(5))))
    return select("Grid size (blocks)", "grid", [AUTO, *sizes], AUTO,
                  {AUTO: "automatic"}, new=True, help="Choose, or type any whole number.")  # fmt: skip


def schedule() -> str:
    """Show the menu for the order in which the emulator runs lanes and blocks."""
    return select(
        "Order of execution", "schedule", list(SCHEDULES), LOCKSTEP,
        {name: name.replace(":", " ") for name in SCHEDULES}, new=True,
        help="The order that CUDA leaves open. Lockstep: the lanes of a warp run together, as up to Pascal. "
        "Independent: any lane may run ahead, as since Volta; type independent:7 for another seed. "
        "Waves: so many blocks at a time; type waves:4.",
    )  # fmt: skip


def schedule_of(chosen: str) -> str | None:
    """Return a schedule for a `Choice`: None for lockstep. NotRunnable if there is no such schedule."""
    parse_schedule(chosen)
    return None if chosen == LOCKSTEP else chosen


def chosen_schedule() -> str | None:
    """Return the schedule of the menu, for a `Choice`."""
    return schedule_of(str(st.session_state.get("schedule") or LOCKSTEP))


def parameter(kernel: Kernel) -> str:
    """Show the menu for the kernel's own parameter (a stride, a number of ways); "" is its default, or no parameter.

    The menu is disabled for a kernel without a parameter, so nothing moves from rung to rung.
    """
    own, asked = kernel.parameter, chosen_parameter(kernel)
    if own is None:
        if asked:
            return select("Parameter", "parameter", [NONE], NONE, {NONE: "none"}).removeprefix(NONE)
        st.selectbox("Parameter", ["none"], disabled=True, key="parameter fixed",
                     help="This kernel has no parameter of its own.")  # fmt: skip
        return ""
    values = [str(value) for value in own.values]
    words = dict(zip(values, own.words, strict=True)) if own.words else None
    meaning = f"{own.label}: the macro `{own.name}` of this kernel, whose own value is {own.default:,}."
    select(_short(own), "parameter", values, str(own.default), words, help=own.label if words else meaning)
    return chosen_parameter(kernel)


def chosen_parameter(kernel: Kernel) -> str:
    """Return the parameter of the menu or the address, even if no menu is shown; "" is the kernel's default."""
    own = kernel.parameter
    address.recall_parameter(own.name if own else None)
    chosen = str(st.session_state["parameter"] or "")
    return "" if chosen == (str(own.default) if own else NONE) else chosen


def has_parameters(topic: Topic) -> bool:
    """Return whether a kernel of the topic has a parameter, so the pages show its menu."""
    return any(kernel.parameter is not None for kernel in topic.kernels)


def parameter_for(kernel: Kernel, shown: Kernel, chosen: str) -> int | None:
    """Return the chosen value of the parameter of `shown`, for `kernel`: the choice holds for every kernel whose
    parameter has that name and offers the value. None: the kernel's default. NotRunnable if it is no number."""
    if not chosen:
        return None
    own, same = shown.parameter, kernel.parameter
    value = number_of(chosen, _short(own) if own else "The parameter")
    if kernel.name == shown.name:
        return value
    holds = own is not None and same is not None and own.name == same.name and value in same.values
    return value if holds else None


def _short(parameter: Parameter) -> str:
    """Shorten "Stride (elements)" to "Stride", which fits above a menu."""
    return parameter.label.partition(" (")[0]


def number_of(text: str, what: str) -> int:
    """Return `text` as a number. NotRunnable, with a sentence about `what`, if it is none."""
    try:
        return whole_number(text)
    except ValueError:
        raise NotRunnable(f"{what} must be a whole number such as 1000, 2^20 or 4M, not {text!r}.") from None


def has_gpu() -> bool:
    """Return whether "automatic" means a GPU here."""
    return bool(service.gpus())


def refusal(choice: Settled) -> NotRunnable | None:
    """Return why the choice cannot run as asked, or None."""
    try:
        check_here(choice)
        plan(choice)
    except NotRunnable as refused:
        return refused
    return None
