// Drafts in the browser's own store: typed text survives a reload, a lost connection and a new server.

const PREFIX = 'kernel-ladder draft ', MOST = 40;

export function stored(id) {
  try { return JSON.parse(localStorage.getItem(PREFIX + id)); } catch { return null; }
}

// Whether a name in the browser's store is that of a draft.
export const isOf = (name, id) => name === PREFIX + id;

// Keep parts of a draft: its text, its file's name, its tries. False if the browser stores nothing.
export function keep(id, parts) {
  const kept = JSON.stringify({ ...stored(id), ...parts });
  try { localStorage.setItem(PREFIX + id, kept); return true; } catch { forgetOldest(MOST / 2); }
  try { localStorage.setItem(PREFIX + id, kept); return true; } catch { return false; }
}

export function forgetOldest(most = MOST) {
  try {
    const all = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
    const when = (name) => { const kept = stored(name.slice(PREFIX.length)); return kept?.when ?? kept?.at ?? 0; };
    all.sort((a, b) => when(b) - when(a)).slice(most).forEach((name) => localStorage.removeItem(name));
  } catch { /* the browser keeps nothing */ }
}
