// The component: a source that is edited, checked and stored. The browser owns the text and sends it to the server.

import { forgetOldest, isOf, keep, stored } from './drafts.js';
import { cuda } from './language.js';
import { completion } from './completion.js';
import { definitionOf } from './definition.js';
import { gutters } from './marks.js';
import { copy, download, linkOf, read, tooLong } from './sharing.js';

const KEEP_MS = 300, COMPILE_MS = 250, TELL_MS = 4000, MOST_TRIES = 10, SHORT = 4, SEEN_PX = 160; // of a result
const LEAVE = 'Escape, then Tab leaves the editor.';
const editors = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const known = editors.get(parentElement);
  if (known?.draft === data.draft && known.root.isConnected) { known.settle(data, setStateValue, setTriggerValue); return undefined; }
  known?.end();
  const editor = new Editor(data, parentElement, setStateValue, setTriggerValue);
  editors.set(parentElement, editor);
  return () => { if (editors.get(parentElement) === editor) { editor.end(); editors.delete(parentElement); } };
}

class Editor {
  constructor(data, parent, tell, ask) {
    this.draft = data.draft;
    this.asked = { number: 0 }; this.changed = false; this.since = null; this.checked = null;
    this.parts = Object.fromEntries([...parent.querySelectorAll('[data-part]')].map((node) => [node.dataset.part, node]));
    this.root = this.parts.editor;
    this.clocks = new AbortController();
    const kept = stored(this.draft);
    this.own = kept && newer(kept, data) ? kept : null;
    // Counters and no times: the clocks of browser and server differ.
    this.at = Math.max(kept?.at ?? 0, data.at);
    this.reset = Math.max(kept?.reset ?? 0, data.reset);
    this.text = this.own?.text ?? data.text;
    this.file = this.own?.file ?? data.file;
    this.tries = data.tries;
    this.settle(data, tell, ask);
    this.listen();
    forgetOldest();
    import(new URL(data.library, document.baseURI).href)
      .then((cm) => { if (!this.clocks.signal.aborted) this.begin(cm, parent.getRootNode()); })
      .catch((error) => { console.error(error); this.say('The editor could not be loaded: reload the page.', true); });
  }

  settle(data, tell, ask) {
    Object.assign(this, { tellServer: tell, ask, heard: data.heard, compiled: data.compiled });
    this.root.style.setProperty('--height', data.height);
    this.parts.run.hidden = !data.runs;
    // The server's text is newer if the draft was begun anew there.
    if (this.view && newer(data, this)) {
      Object.assign(this, { at: data.at, reset: data.reset });
      if (data.text !== this.text) this.replace(data.text, data.file);
    }
    this.parts.file.textContent = this.file;
    // Send a press again that was lost with a connection.
    if (this.root.dataset.state === 'busy' && data.heard < this.asked.number && !this.again) {
      this.again = true;
      this.ask('asked', this.asked);
    }
  }

  begin(cm, root) {
    this.cm = cm;
    this.marks = gutters(cm);
    const command = (does) => () => { does(); return true; };
    const keys = [
      { key: 'F12', run: command(() => this.toDefinition(this.view.state.selection.main.head)) },
      { key: 'Mod-Enter', run: command(() => this.request('check')), shift: command(() => this.request(this.parts.run.hidden ? 'check' : 'run')) },
      ...cm.closeBracketsKeymap, ...cm.defaultKeymap, ...cm.historyKeymap, ...cm.searchKeymap, ...cm.lintKeymap, cm.indentWithTab,
    ];
    this.parts.text.replaceChildren();
    this.view = new cm.EditorView({
      parent: this.parts.text,
      root: root instanceof ShadowRoot ? root : undefined,
      doc: this.text,
      extensions: [
        cm.lineNumbers(), this.marks.extensions, cm.history(), cm.drawSelection(), cm.highlightActiveLine(), cm.highlightActiveLineGutter(),
        cuda(cm), completion(cm), cm.search({ top: true }), cm.highlightSelectionMatches(), cm.Prec.high(cm.keymap.of(keys)),
        cm.EditorState.tabSize.of(4), cm.EditorView.lineWrapping,
        cm.EditorView.contentAttributes.of({ 'aria-label': `Source. ${LEAVE}`, spellcheck: 'false', tabindex: '0' }),
        cm.EditorView.domEventHandlers({ mousedown: (event, view) => {
          if (!(event.ctrlKey || event.metaKey)) return false;
          return this.toDefinition(view.posAtCoords({ x: event.clientX, y: event.clientY }));
        } }),
        cm.EditorView.updateListener.of((update) => this.updated(update)),
      ],
    });
    // Scroll the text only: CodeMirror's own scrolling would scroll the page as well, and hide the part above.
    this.view.requestMeasure({
      read: (view) => view.lineBlockAt(beginning(view.state.doc)).top,
      write: (top, view) => { view.scrollDOM.scrollTop = top; },
    });
    // The server's copy of a draft holds only its text.
    if (this.own || (stored(this.draft)?.tries?.length ?? 0) > this.tries) this.tell();
    this.mark();
    this.root.dataset.ready = 'yes';
  }

  updated(update) {
    if (update.docChanged) {
      this.text = update.state.doc.toString();
      this.changed = !this.following;
      if (this.since) this.since = this.since.compose(update.changes);
      this.outdate(true);
      if (this.following) return;  // the other tab has stored and sent this text
      this.later('keep', KEEP_MS, () => { this.keep(); this.outdate(); });
      this.later('compile', COMPILE_MS, () => this.compile());
      this.later('tell', TELL_MS, () => this.tell());
    }
    if (update.docChanged || update.selectionSet) this.say(this.tooLong() || this.saidHere(), Boolean(this.tooLong()));
  }

  // Mark what the compiler says of the text as it stands. A busy server does not answer: the next pause asks again.
  async compile() {
    const text = this.text, doc = this.view.state.doc;
    if (!this.compiled?.proof || this.tooLong() || this.root.dataset.state === 'busy') return;
    const body = JSON.stringify({ ...this.compiled, draft: this.draft, text, file: this.file });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch('./compiled', { method: 'POST', headers, body, signal: this.clocks.signal }).catch(() => null);
    const told = answer?.ok ? await answer.json().catch(() => null) : null;
    if (!told || this.text !== text || this.root.dataset.state === 'busy') return;
    this.marks.typed(this.view, told.marks, doc);
    this.root.dataset.compiled = told.marks.length;
    const [first] = told.marks.filter(({ kind }) => kind === 'error');
    this.hear(this.saidHere() || (first ? `Line ${first.line}. ${first.message}` : ''));
  }

  // Whether the results beside the editor are of another text than this one; `surely`: it has just been changed.
  outdate(surely = false) {
    const told = window.kernelLadder.marks;
    const old = told?.draft === this.draft && (surely || crc32(this.text) !== told.digest);
    for (const place of [document.documentElement, this.root]) place.toggleAttribute('data-outdated', old);
  }

  // The sentences for the cursor's line; its count may be of the text before.
  saidHere() {
    return this.marks.saidAt(this.view, this.root.hasAttribute('data-outdated') ? `${this.counter}, in an earlier text` : this.counter);
  }

  tooLong() {
    if (this.measured !== this.text) Object.assign(this, { measured: this.text, long: tooLong(this.file, this.text) });
    return this.long;
  }

  keep() {
    const kept = keep(this.draft, { text: this.text, file: this.file, at: this.at += 1, reset: this.reset, when: Date.now() });
    if (!kept) this.notice('This browser keeps nothing: download the file before you leave.', true);
  }

  // Send the text when the reader pauses or leaves the editor: every message runs the page's script on the server.
  tell() {
    clearTimeout(this.timers?.tell);
    this.changed = false;
    if (this.tooLong()) return;
    const { tries } = stored(this.draft) ?? {};
    this.tellServer('told', { draft: this.draft, text: this.text, file: this.file, at: this.at, reset: this.reset, tries: tries ?? [] });
  }

  request(action) {
    if (!this.view) return;
    this.keep();
    clearTimeout(this.timers?.tell);
    this.changed = false;
    this.again = false;
    if (this.tooLong()) { this.say(this.tooLong(), true); return; }
    this.checked = this.view.state.doc;
    this.since = this.cm.ChangeSet.empty(this.checked.length);
    this.root.dataset.state = 'busy';
    this.say(action === 'check' ? 'Checking …' : 'Running …');
    this.asked = { action, number: Math.max(this.heard, this.asked.number) + 1, draft: this.draft, text: this.text, file: this.file, at: this.at, reset: this.reset };
    this.ask('asked', this.asked);
  }

  // The server's findings are kept in the page's own object, as they can arrive before the editor exists.
  mark() {
    const told = window.kernelLadder.marks;
    if (!told || !this.view || told.draft !== this.draft) return;
    const { doc } = this.view.state, same = crc32(this.text) === told.digest;
    this.counter = told.counter;
    this.outdate();
    if (same) { this.checked = doc; this.since = this.cm.ChangeSet.empty(doc.length); }
    if (same || (told.number === this.asked.number && this.since)) this.marks.show(this.view, told, this.checked, this.since);
    for (const row of told.tries) this.keepTry(row, told.number === this.asked.number ? this.checked.toString() : same ? this.text : null);
    if (told.number >= this.asked.number) {
      if (this.root.dataset.state === 'busy') this.say(told.said);
      else this.hear(told.said);
      if (this.root.dataset.state === 'busy') this.later('see', COMPILE_MS, seeResult);
      this.root.dataset.state = 'done';
    }
  }

  // The browser stores a try's source; the server sends the rest of it.
  keepTry(row, text) {
    const tries = stored(this.draft)?.tries ?? [];
    if (text === null || tries.some((one) => one.number === row.number && one.utc === row.utc)) return;
    keep(this.draft, { tries: [...tries, { ...row, text }].slice(-MOST_TRIES) });
  }

  say(words, bad = false) {
    this.noticed = false;
    if (this.parts.told.textContent !== words) this.parts.told.textContent = words;
    this.parts.told.classList.toggle('bad', bad);
  }

  // Say what the reader asked for or must know: it stays until they type, move the cursor or ask for something else.
  notice(words, bad = false) {
    this.say(words, bad);
    this.noticed = true;
  }

  // Say what the compiler or the server has found meanwhile.
  hear(words) {
    if (!this.noticed) this.say(words);
  }

  later(name, after, does) {
    this.timers ??= {};
    clearTimeout(this.timers[name]);
    this.timers[name] = setTimeout(does, after);
  }

  replace(text, file) {
    this.file = file;
    this.parts.file.textContent = file;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    this.keep();
    this.tell();
  }

  // Another tab with this draft has stored a text: show it. Undo brings the text of this tab back.
  follow() {
    const kept = stored(this.draft);
    if (!this.view || typeof kept?.text !== 'string' || !newer(kept, this)) return;
    Object.assign(this, { at: kept.at, reset: kept.reset ?? this.reset, file: kept.file ?? this.file });
    this.parts.file.textContent = this.file;
    if (kept.text === this.text) return;
    for (const timer of Object.values(this.timers ?? {})) clearTimeout(timer);
    this.following = true;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: kept.text } });
    this.following = false;
    this.outdate();
    this.notice('Another tab changed this text. Undo brings yours back.');
  }

  open(name, { text, said }) {
    this.replace(text, name);
    if (said) this.notice(said);
  }

  async share() {
    try {
      this.parts.link.value = await linkOf(this.text);
      this.parts.linked.hidden = false;
      this.parts.link.select();
      this.notice(await copy(this.parts.link.value) ? 'The link is copied.' : 'Copy the link below.');
    } catch (error) { this.parts.linked.hidden = true; this.notice(error.message, true); }
  }

  // Go to the place where the name at a position is declared; false if there is none.
  toDefinition(at) {
    const found = at === null ? null : definitionOf(this.cm, this.view.state, at);
    if (found !== null) this.toLine(this.view.state.doc.lineAt(found).number);
    return found !== null;
  }

  toLine(number) {
    const { doc } = this.view.state, { from } = doc.line(Math.min(Math.max(1, number), doc.lines));
    this.view.dispatch({ selection: { anchor: from }, effects: this.cm.EditorView.scrollIntoView(from, { y: 'center' }) });
    this.view.focus();
  }

  listen() {
    const { signal } = this.clocks, on = (node, event, does) => node.addEventListener(event, does, { signal });
    const { parts } = this;
    on(parts.check, 'click', () => this.request('check'));
    on(parts.run, 'click', () => this.request('run'));
    on(parts.undo, 'click', () => { this.cm?.undo(this.view); this.view?.focus(); });
    on(parts.find, 'click', () => this.cm?.openSearchPanel(this.view));
    on(parts.open, 'click', () => parts.chosen.click());
    on(parts.download, 'click', () => download(this.file, this.text));
    on(parts.share, 'click', () => this.share());
    on(parts.chosen, 'change', async () => {
      const [file] = parts.chosen.files;
      try { if (file && this.view) this.open(file.name, await read(file)); } catch (error) { this.notice(error.message, true); }
      parts.chosen.value = '';
    });
    on(parts.text, 'focusout', () => { if (this.changed) { this.keep(); this.tell(); } });
    on(window, 'pagehide', () => { if (this.changed) this.keep(); });
    on(window, 'kernelladder-marks', () => this.mark());
    on(window, 'storage', ({ key }) => { if (isOf(key, this.draft)) this.follow(); });
    on(document, 'click', (event) => {
      const [, kind, number] = event.target.closest?.('a[href^="#"]')?.hash.match(/^#([LT])(\d+)$/) ?? [];
      if (!kind || !this.view) return;
      event.preventDefault();
      const text = kind === 'T' && stored(this.draft)?.tries?.find((one) => one.number === Number(number))?.text;
      if (kind === 'L') this.toLine(Number(number)); else if (text) this.replace(text, this.file);
    });
    on(document, 'keydown', (event) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
      event.preventDefault();
      this.request(event.shiftKey && !this.parts.run.hidden ? 'run' : 'check');
    });
  }

  end() {
    if (this.changed) this.keep();
    for (const timer of Object.values(this.timers ?? {})) clearTimeout(timer);
    document.documentElement.removeAttribute('data-outdated');
    this.clocks.abort();
    this.view?.destroy();
  }
}

// Whether one copy of a draft is newer than another: the server replaced its text later, or the browser stored it later.
function newer(one, other) {
  return ((one.reset ?? 0) - (other.reset ?? 0) || one.at - other.at) > 0;
}

// Scroll until the result of a press is in sight: the form of the launch may have pushed it below the window.
function seeResult() {
  const below = (document.querySelector('.st-key-labresults')?.getBoundingClientRect().top ?? 0) + SEEN_PX - innerHeight;
  if (below > 0) document.querySelector('.stMain').scrollBy({ top: below });
}

// The position at which the code begins, below a long comment at the top.
function beginning(doc) {
  let number = 1;
  while (number < doc.lines && /^\s*(?:\/\/|$)/.test(doc.line(number).text)) number++;
  return number > SHORT ? doc.line(number).from : 0;
}

// CRC-32 as zlib computes it, of the text in UTF-8.
function crc32(text) {
  let sum = -1;
  for (const byte of new TextEncoder().encode(text)) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (0xEDB88320 & -(sum & 1));
  }
  return (sum ^ -1) >>> 0;
}
