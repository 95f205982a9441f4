"""The menus of the sweep page: the swept parameter, the variants, and the fixed choices."""

from __future__ import annotations

import streamlit as st

from engine.catalogue import KERNELS, LADDERS, TOPICS, Topic
from engine.history.history import swept_n
from engine.history.tables import COLUMNS, COUNTED
from engine.plan import ELEMENTS
from engine.records import Choice
from engine.records.counters import IN_PLOTS
from engine.records.words import size_text
from views.shared import address, menus
from views.shared.messages import Place, replace_unknown, shown_instead
from views.sweep.sweep import OVER, Sweep, fitting, kernels_of, parameters_of, ways_of


def several(label: str, name: str, options: list[str], default: list[str], words: dict[str, str],
            told: Place) -> list[str]:  # fmt: skip
    """Show a menu for several options; a name in the address that is no option is reported in `told` and left out."""
    asked = st.session_state.get(name)
    if not asked:
        st.session_state[name] = asked = default
    unknown, said = [value for value in asked if value not in options], ""
    if unknown:
        said = f"{label}: {', '.join(map(repr, unknown))} is not available here, so it is left out."
        st.session_state[name] = [value for value in asked if value in options] or default
    now = st.session_state[name]
    shown_instead(name, now, said, place=told)
    chosen = st.pills(
        label, options, default=now, key=name, selection_mode="multi", format_func=lambda text: words[text]
    )
    return list(chosen or [])


def default_kernels(topic: Topic) -> list[str]:
    """Return the rungs of the topic's first ladder with a table by block size, else of its first ladder."""
    ladders = [ladder for ladder in LADDERS.values() if ladder.topic == topic.name]
    tabled = [ladder for ladder in ladders if len({f.block_size for rung in ladder.rungs for f in rung.published}) > 2]
    rungs = (tabled or ladders)[0].rungs
    wanted = [rung.timed for rung in rungs if len(rung.published) > 2] or [rung.kernel for rung in rungs]
    return list(dict.fromkeys(wanted))


def take_topic() -> None:
    """Take the topic of the menu, with its own kernels, sizes, blocks and parameters."""
    address.forget("kernels", "blocks", "sizes", "value", "knob", "values", "elements")
    if st.session_state.get("sweep") not in ways_of(TOPICS[st.session_state["topic"]]):
        st.session_state["sweep"] = "blocks"


def take_sweep() -> None:
    """Take the sweep or the parameter of the menu. Variants without that sweep leave the page, and so do all variants
    of another sweep if no reader chose among them. A parameter's sweep begins at an N with recorded times."""
    topic, parameter = TOPICS[st.session_state["topic"]], st.session_state.get("knob")
    parameter = parameter if parameter in parameters_of(topic) else next(iter(parameters_of(topic)), None)
    fits = {kernel.name for kernel in kernels_of(topic, st.session_state["sweep"], parameter)}
    shown = set(st.session_state.get("kernels") or ())
    whole = [kernels_of(topic, "knob", name) for name in parameters_of(topic)] + [kernels_of(topic, "elements", None)]
    unchosen = shown in [{kernel.name for kernel in kernels} for kernels in whole]
    if unchosen or not shown <= fits or st.session_state["sweep"] in ("knob", "elements"):
        address.forget("kernels", "values")
    if st.session_state["sweep"] == "knob" and (n := swept_n(fits, menus.chosen_record() or None)) is not None:
        address.keep(topic.name, {"n": str(n)})


def choose_topic() -> Topic:
    """Show the menu for the topic, at first that of the address's ladder or variants."""
    said = ""
    if (asked := st.session_state.get("topic")) not in TOPICS:
        named = [KERNELS[name].topic for name in st.session_state.get("kernels") or [] if name in KERNELS]
        ladder = LADDERS.get(st.session_state.get("ladder", ""))
        st.session_state["topic"] = (named or [ladder.topic if ladder else next(iter(TOPICS))])[0]
        said = asked and f"There is no topic {asked!r}. Shown instead: {TOPICS[st.session_state['topic']].title}."
    shown_instead("topic", st.session_state["topic"], said or "")
    st.segmented_control("Topic", list(TOPICS), default=st.session_state["topic"], key="topic",
                         format_func=lambda name: TOPICS[name].title, required=True, on_change=take_topic)  # fmt: skip
    return TOPICS[st.session_state["topic"]]


def choose_sweep(topic: Topic) -> str:
    """Show the menu for the swept parameter; an unknown or impossible one in the address is reported."""
    ways, said = ways_of(topic), ""
    if st.session_state.get("sweep") not in ways:
        if asked := st.session_state.get("sweep"):
            said = f"Nothing of this topic can be swept over {OVER.get(asked, asked)!r}. Shown instead: block sizes."
        st.session_state["sweep"] = "blocks"
    shown_instead("sweep", (topic.name, st.session_state["sweep"]), said)
    st.segmented_control("Sweep over", ways, default=st.session_state["sweep"], key="sweep",
                         format_func=OVER.get, required=True, on_change=take_sweep)  # fmt: skip
    return str(st.session_state["sweep"])


def choose_parameter(topic: Topic) -> str:
    """Show the menu for the kernel's parameter, if the topic's kernels have several."""
    parameters, said = parameters_of(topic), ""
    if st.session_state.get("knob") not in parameters:
        if asked := st.session_state.get("knob"):
            said = f"No kernel of this topic has a parameter {asked!r}. Shown instead: {next(iter(parameters))}."
        st.session_state["knob"] = next(iter(parameters))
    shown_instead("knob", (topic.name, st.session_state["knob"]), said)
    now = list(parameters).index(st.session_state["knob"])
    st.selectbox("Parameter", list(parameters), now, key="knob", format_func=lambda name: parameters[name].label,
                 on_change=take_sweep, width=220)  # fmt: skip
    return str(st.session_state["knob"])


def swept_values(topic: Topic, over: str, parameter: str | None, told: Place) -> list[str]:
    """Show the values of the sweep as buttons; many values are behind one button."""
    match over:
        case "blocks":
            every = [str(b) for b in sorted({size for kernel in topic.kernels for size in kernel.offered_block_sizes})]
            usual = [str(b) for b in sorted({size for kernel in topic.kernels for size in kernel.block_sizes})]
            return several(topic.block_label, "blocks", every, usual, {value: value for value in every}, told)
        case "sizes":
            sizes = {str(n): size_text(n) for n in topic.sizes}
            return several(topic.size_label, "sizes", list(sizes), default_sizes(topic), sizes, told)
        case "knob":
            own = parameters_of(topic)[parameter or ""]
            words = {str(value): size_text(value) for value in own.values}
            with st.popover("Values", icon=":material/tune:", width="content"):
                return several(own.label, "values", list(words), list(words), words, told)
    words = {str(value): size_text(value) for value in ELEMENTS}
    with st.popover("Values", icon=":material/tune:", width="content"):
        return several(OVER[over], "elements", list(words), list(words), words, told)


def controls() -> Sweep:
    """Show the menus and return the sweep. NotRunnable for text in place of a number."""
    topic = choose_topic()
    told = st.container()  # popovers would hide a message
    with st.container(horizontal=True, key="sweepwhat", vertical_alignment="bottom"):
        over = choose_sweep(topic)
        own = {"n": topic.default_n, "block": topic.default_block_size, "dtype": topic.kernels[0].dtypes[0]}
        address.recall_for(topic.name, {name: str(value) for name, value in own.items()})
        parameter = choose_parameter(topic) if over == "knob" else None
        offered = kernels_of(topic, over, parameter)
        names = [kernel.name for kernel in offered]
        default = names if over in ("knob", "elements") else default_kernels(topic)
        with st.popover("Variants", icon=":material/checklist:", width="content"):
            kernels = several(
                "Variants", "kernels", names, default, {kernel.name: kernel.title for kernel in offered}, told
            )
        values = swept_values(topic, over, parameter, told)
    widths = [1.2, 0.9, 0.85, 1.05, 1.35, 1.5, *([1.35] if menus.offers_record() else [])]
    columns = st.columns(widths, vertical_alignment="bottom")
    with columns[0]:
        n = fixed(topic.size_label) if over == "sizes" else menus.size(topic)
    with columns[1]:
        block = fixed(topic.block_label.partition(" (")[0]) if over == "blocks" else menus.block_size(topic)
    with columns[2]:
        dtype = menus.element_type(topic)
    with columns[3]:
        cache = menus.cache_state()
    with columns[4]:
        device = menus.device()
    keys = [topic.metric, "time_us", "percent_of_peak", *IN_PLOTS]
    words = {key: f"{COLUMNS[key].title}{', counted' if COLUMNS[key].group == COUNTED else ''}" for key in keys}
    replace_unknown("value", "quantity", words, topic.metric, told)
    with columns[5]:
        key = menus.select("Plotted", "value", keys, topic.metric, words)
    with columns[-1]:
        menus.record()
    base = Choice(
        kernel=topic.kernels[0].name,
        n=menus.number_of(n, "N") if n else topic.default_n,
        block_size=menus.number_of(block, "The block size") if block else topic.default_block_size,
        dtype=dtype,
        cache=cache,
        device=device,
        record=menus.known_record(menus.chosen_record()),
    )
    chosen = fitting(over, sorted(map(int, values)), base.n, base.block_size)
    order = [kernel.name for kernel in topic.kernels if kernel.name in kernels]
    return Sweep(topic, over, tuple(order), tuple(chosen), base, key, parameters_of(topic).get(parameter or ""))


def fixed(label: str) -> str:
    """Show a fixed word in the place of the swept parameter's menu, so the other menus keep their places."""
    st.selectbox(label, ["swept"], disabled=True, key=f"swept {label}")
    return ""


def default_sizes(topic: Topic) -> list[str]:
    """Return the sizes that this machine can run: all with a GPU, the emulator's without."""
    largest = topic.max_n if menus.has_gpu() else topic.emulator_max_n
    return [str(n) for n in topic.sizes if n <= largest]
