"""The keys of the lecturer: arrows (or a presenter's clicker) step, R runs, L runs
the ladder, P presents, F fills the screen."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

# Streamlit's own shortcuts leave R to itself, and a selected menu or a radio group would eat the arrows: so the page
# listens before they do, and keeps out of the way of whoever types.
_SCRIPT = """
export default function({ data, setStateValue }) {
  // Two keys may be pressed before the first is answered: so all recent ones are told, with their numbers.
  const keys = (window.kernelLadderKeys ??= { count: 0, pressed: [] });
  const height = window.innerHeight;
  if (data.presenting && Math.abs(height - data.height) > 24) setStateValue('height', height);
  const names = {
    ArrowLeft: 'previous', ArrowRight: 'next', PageUp: 'previous', PageDown: 'next',
    r: 'run', R: 'run', l: 'ladder', L: 'ladder', p: 'present', P: 'present', f: 'fill', F: 'fill', Escape: 'leave',
  };
  const typing = (target) => {
    if (!target || !target.matches) return false;
    if (target.matches('[role=combobox]')) return target.getAttribute('aria-expanded') === 'true';  // an open menu
    return target.isContentEditable || target.matches('input:not([type=radio]):not([type=checkbox]), textarea, select');
  };
  const listen = (event) => {
    const name = names[event.key];
    if (!name || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (typing(event.composedPath()[0])) return;
    const presenting = document.querySelector('.presenting') !== null;
    if (event.key.startsWith('Page') && !presenting) return;
    if (name === 'leave' && (!presenting || document.fullscreenElement)) return;
    event.preventDefault();
    event.stopPropagation();
    if (name === 'fill') {
      if (document.fullscreenElement) document.exitFullscreen(); else document.documentElement.requestFullscreen();
    } else {
      keys.pressed = [...keys.pressed, { name, number: ++keys.count }].slice(-20);
      setStateValue('pressed', keys.pressed);
    }
  };
  window.removeEventListener('keydown', keys.listen, true);  // called again with new data, not always cleaned up before
  window.addEventListener('keydown', keys.listen = listen, true);
  document.body.dataset.keys = 'heard';
  return () => {
    window.removeEventListener('keydown', listen, true);
    delete document.body.dataset.keys;
  };
}
"""

_ACTIONS, _ANSWERED = "key actions", "last key answered"


def listen() -> None:
    """Mount the listener. A page says what its keys do with `on_key`."""
    st.session_state[_ACTIONS] = st.session_state.get(_ACTIONS, {})
    component = st.components.v2.component("kernel_ladder_keyboard", js=_SCRIPT)
    component(
        key="keyboard",
        data={"presenting": st.session_state.get("present") == "1", "height": window_height()},
        on_pressed_change=_pressed,
        on_height_change=lambda: None,
        height=0,
    )


def window_height() -> int:
    """The height of the browser's window in pixels, as told when presenting; 720 before that."""
    return int((st.session_state.get("keyboard") or {}).get("height") or 720)


def on_key(actions: dict[str, Callable[[], None]]) -> None:
    """What the page's keys do: "previous", "next", "run", "present", "leave" -> a callback."""
    st.session_state[_ACTIONS] = actions


def _pressed() -> None:
    told = (st.session_state.get("keyboard") or {}).get("pressed") or []
    for key in told:
        if key["number"] <= st.session_state.get(_ANSWERED, 0):
            continue
        st.session_state[_ANSWERED] = key["number"]
        action = st.session_state.get(_ACTIONS, {}).get(key["name"])
        if action:
            action()
