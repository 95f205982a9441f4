/* Functions of the browser that Streamlit does not offer: the lecturer's keys, one press of Back per page, a bar
   that fades, the source at its changed lines, and texts for a screen reader. The script is in the page before
   Streamlit's own scripts, and lives as long as the window; keyboard.py connects it with the server. */
window.kernelLadder = (() => {
  const own = { tell: null, window: [0, 0], count: 0, pressed: [], popped: 0, path: location.pathname };
  let given = {}; // the keys, the help, and names of the address: those of defaults, and those that Back ignores
  own.begin = (all) => { given = all; };
  const presenting = () => document.querySelector('.presenting') !== null;
  const app = () => document.querySelector('.stApp') ?? document.body;

  // Keys. Streamlit uses R for itself, and a selected menu or a radio group would consume the arrow keys: so
  // the window listens before they do, and ignores keys while the reader types.
  const typing = (target) => {
    if (!target?.matches) return false;
    if (target.matches('[role=combobox]')) return target.getAttribute('aria-expanded') === 'true'; // an open menu
    return target.isContentEditable || target.matches('input:not([type=radio]):not([type=checkbox]), textarea, select');
  };
  const actionOf = (event) => {
    const key = (event.shiftKey && event.key === ' ' ? 'Shift+' : '') + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
    return given.everywhere[key] ?? (presenting() ? given.presenting[key] : undefined);
  };
  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const target = event.composedPath()[0];
    const open = document.querySelector('dialog.keys[open]') ?? window.kernelTerms.isOpen();
    if (typing(target) && !open) return;
    if (event.key === ' ' && target?.closest?.('button, a, summary, [role=radio]')) return; // the space bar presses that element
    const action = actionOf(event);
    const black = document.querySelector('.blackscreen');
    if (black && action !== 'black') black.remove();
    if (!action || (action === 'leave' && (!presenting() || document.fullscreenElement || open))) return;
    event.preventDefault();
    event.stopPropagation();
    perform(action);
  }, true);

  function perform(action) {
    if (action === 'terms') return window.kernelTerms.toggle();
    if (!action.startsWith('code ')) window.kernelTerms.close();
    if (action === 'help') return help();
    if (action === 'black') return black();
    if (action === 'window') return window.open(`./f/presenter#${document.querySelector('.room[data-key]')?.dataset.key ?? ''}`, 'kernel-ladder-presenter', 'width=1200,height=760');
    if (action.startsWith('code ')) return scroll(action === 'code down' ? 0.6 : -0.6);
    if (action === 'theme') action = `theme ${theme.next()}`;
    if (action.startsWith('picture ')) return window.dispatchEvent(new CustomEvent('kernelladder-picture', { detail: action.slice(8) }));
    if (action === 'fill') {
      if (document.fullscreenElement) document.exitFullscreen(); else document.documentElement.requestFullscreen();
      return;
    }
    // Two keys may be pressed before the server answers the first: so all recent ones are sent, with their numbers.
    own.pressed = [...own.pressed, { name: action, number: ++own.count }].slice(-20);
    own.tell?.('pressed', own.pressed);
  }

  // The presenter's second window sends the keys that are pressed there.
  const windows = new BroadcastChannel('kernel-ladder');
  windows.onmessage = ({ data }) => {
    const action = presenting() && data.key ? actionOf(data) : undefined;
    if (action && action !== 'window' && action !== 'fill') perform(action);
  };

  function scroll(part) {
    const lines = document.querySelector('dialog.terms[open]') ?? document.querySelector('.slide .lines');
    lines?.scrollBy({ top: part * lines.clientHeight, behavior: 'smooth' });
  }

  function help() {
    const open = document.querySelector('dialog.keys');
    if (open) return open.remove();
    const dialog = document.createElement('dialog');
    dialog.className = 'keys';
    dialog.setAttribute('aria-label', 'Keys');
    dialog.innerHTML = given.help;
    dialog.addEventListener('click', () => dialog.remove());
    dialog.addEventListener('close', () => dialog.remove());
    app().append(dialog);
    dialog.showModal();
  }

  function black() {
    const there = document.querySelector('.blackscreen');
    if (there) return there.remove();
    const screen = document.createElement('div');
    screen.className = 'blackscreen';
    screen.addEventListener('click', () => screen.remove());
    app().append(screen);
  }

  document.addEventListener('click', (event) => {
    if (event.target.closest?.('.showkeys')) help();
    if (event.target.closest?.('.leave')) perform('leave');
    const pressed = event.target.closest?.('[data-press]');
    if (pressed) perform(pressed.dataset.press);
  });

  // While the server is away, Streamlit shows a dialog that makes the page inert. A bar says what matters instead.
  const AWAY = 'The server is away. This page goes on by itself when it is back; what you typed is kept in this browser.';
  function away() {
    const dialog = [...document.querySelectorAll('[role=dialog]')].find((each) => each.textContent.startsWith('Connection error'));
    const close = dialog?.querySelector('[aria-label=Close], button');
    if (!close) return;
    close.click();
    if (document.querySelector('.serveraway')) return;
    const bar = document.createElement('p');
    bar.className = 'serveraway';
    bar.role = 'status';
    bar.textContent = AWAY;
    app().append(bar);
    const ask = () => fetch('./healthz', { cache: 'no-store' }).then((answer) => answer.ok, () => false)
      .then((back) => (back ? bar.remove() : setTimeout(ask, 1000)));
    ask();
  }

  // The theme. Streamlit's own follows the system's scheme, for which it asks this media query: so the query answers
  // with the theme of the address or of the key, if there is one.
  const theme = (() => {
    const every = ['system', 'light', 'dark'], asks = window.matchMedia.bind(window), own = new EventTarget();
    const system = asks('(prefers-color-scheme: dark)');
    const asked = new URLSearchParams(location.search).get('theme');
    let now = every.includes(asked) ? asked : 'system';
    const matches = () => (now === 'system' ? system.matches : now === 'dark');
    Object.defineProperties(own, { matches: { get: matches }, media: { value: system.media } });
    own.addListener = (heard) => own.addEventListener('change', heard);
    own.removeListener = (heard) => own.removeEventListener('change', heard);
    const tell = () => own.dispatchEvent(Object.assign(new Event('change'), { matches: matches(), media: system.media }));
    system.addEventListener('change', tell);
    window.matchMedia = (query) => (/^\(prefers-color-scheme:\s*dark\)$/.test(query) ? own : asks(query));
    const next = () => {
      now = every[(every.indexOf(now) + 1) % every.length];
      tell();
      return now;
    };
    return { next };
  })();

  // Back. Streamlit would send the server the address that the browser went back to, but so does every click that
  // crosses the page's own change of address: so this message says that Back was pressed. Streamlit opens other pages.
  window.addEventListener('popstate', (event) => {
    const stays = own.path === location.pathname;
    own.path = location.pathname;
    if (!stays || location.hash || !own.tell) return;
    event.stopImmediatePropagation();
    own.tell('popped', { number: ++own.popped, search: location.search });
  }, true);
  // A page enters the history twice: without its choices and with them, or with its choices at the old page's path
  // and then at its own path, one for each of the server's two messages. The second entry replaces the first. So does
  // one that differs only in names that Back ignores.
  const push = history.pushState.bind(history);
  const completes = (next) => {
    if (next.pathname !== location.pathname) return location.search !== '' && next.search === location.search;
    if (document.querySelector('.opening')) return false; // a page of its own, without choices
    const [now, then] = [location.search, next.search].map((search) => new URLSearchParams(search));
    for (const name of given.quiet) [now, then].forEach((names) => names.delete(name));
    const added = [...then.keys()].filter((name) => !now.has(name));
    return [...now].every(([name, value]) => then.get(name) === value)
      && !added.some((name) => given.optional.includes(name));
  };
  history.pushState = (state, title, url) => {
    const next = new URL(url, location.href);
    own.path = next.pathname;
    return completes(next) ? history.replaceState(state, title, url) : push(state, title, url);
  };

  // A page that follows the lecture goes to the lecture's address, as if Back led there. The server sends the address
  // once for each change. Every other page, but the one that presents, only learns of the lecture's begin and end.
  const wants = () => (document.querySelector('.follows') ? (document.querySelector('.st-key-motion') ? 'moments' : 'steps') : 'begin');
  const show = () => { if (own.slot != null) window.dispatchEvent(new CustomEvent('kernelladder-picture', { detail: `to ${own.slot}` })); };
  const second = () => new Promise((done) => setTimeout(done, 1000));
  (async () => {
    for (let seen = null, lecture = 0, moment = 0; ;) {
      const mark = document.querySelector('.follows');
      if (document.hidden || !own.tell || presenting()) {
        invite(null);
        await second();
        continue;
      }
      const moving = wants() === 'moments' ? `&moment=${moment}` : '';
      const asked = mark ? `seen=${seen ?? mark.dataset.number}${moving}` : `lecture=${lecture}`;
      const stop = new AbortController();
      own.asks = { wants: wants(), stop };
      const now = await fetch(`./lecture?${asked}`, { signal: stop.signal })
        .then((answer) => (answer.ok ? answer.json() : null)).catch(() => null);
      if (!now && !stop.signal.aborted) await second();
      const shown = document.querySelector('.follows');
      invite(now?.lecture && !shown ? now : null);
      if (!now || document.hidden) continue;
      lecture = shown ? 0 : now.lecture ?? 0; // who stops following is invited again at once
      if (!shown) { seen = null; continue; }
      if (now.number && now.number !== seen && String(now.number) !== shown.dataset.number) {
        own.tell('popped', { number: ++own.popped, search: `?${now.address}&follow=1` });
      }
      seen = now.number ?? 0;
      own.slot = now.slot;
      if (now.moment !== moment) show();
      moment = now.moment ?? 0;
    }
  })();

  // The way into the lecture from any page, unless the ladder page offers it already.
  let declined = 0;
  function invite(now) {
    const strip = document.querySelector('.lecturestrip');
    if (!now || presenting() || now.lecture === declined || document.querySelector('.st-key-follow_on')) return strip?.remove();
    if (strip) return;
    const made = document.createElement('aside');
    made.className = 'lecturestrip';
    made.innerHTML = '<span>A lecture is going on.</span><button type="button">Follow it</button><button type="button" class="no" aria-label="Not now">✕</button>';
    const [follow, no] = made.querySelectorAll('button');
    follow.addEventListener('click', () => fetch('./lecture').then((answer) => answer.json()).then(({ address }) => {
      made.remove();
      if (document.querySelector('[data-rung], .opening')) own.tell('popped', { number: ++own.popped, search: `?${address}&follow=1` });
      else location.assign(`./?${address}&follow=1`);
    }));
    no.addEventListener('click', () => { declined = now.lecture; made.remove(); });
    app().append(made);
  }

  // The presenter's page tells the room the moment at which its picture stands still, and counts who follows.
  let moment = null;
  window.addEventListener('kernelladder-moment', ({ detail }) => {
    moment = detail;
    if (detail.first && wants() === 'moments') show(); // the picture came later than the moment
  });
  setInterval(() => {
    const key = document.querySelector('.room[data-key]')?.dataset.key, count = document.querySelector('.roomcard [data-ticket]');
    if (key && moment) {
      const body = JSON.stringify({ key, words: moment.words, slot: moment.slot, drawing: moment.drawing() });
      fetch('./f/moment', { method: 'POST', headers: { 'content-type': 'application/json' }, body }).catch(() => {});
    }
    moment = null;
    for (const [name, place] of [['followers', count], ['votes', document.querySelector('.question .votes')]]) {
      if (place) fetch(`./f/${name}?t=${place.dataset.ticket}&question=${encodeURIComponent(place.dataset.question ?? '')}`).then((answer) => answer.json()).then((number) => { place.textContent = number; }, () => {});
    }
  }, 500);

  // A move of the mouse shows the bar of a slide; then it fades.
  let still;
  const moved = () => {
    document.body.dataset.mouse = 'moving';
    clearTimeout(still);
    still = setTimeout(() => delete document.body.dataset.mouse, 2500);
  };
  for (const kind of ['mousemove', 'pointerdown']) window.addEventListener(kind, moved, { passive: true });

  own.connect = (data, tell) => {
    const first = own.tell === null;
    Object.assign(own, { tell, window: data.window });
    if (first && own.pressed.length) tell('pressed', own.pressed); // pressed while the page was loading
    own.measure();
    own.look();
    document.body.dataset.keys = 'heard';
  };

  own.measure = () => {
    const now = [innerWidth, innerHeight];
    if (now.some((pixels, i) => Math.abs(pixels - own.window[i]) > 24)) own.tell?.('window', now);
  };
  let resized;
  window.addEventListener('resize', () => {
    clearTimeout(resized);
    resized = setTimeout(own.measure, 250);
  });

  // For each change of the page: scroll a source to its first changed line, mark the pressed rung, announce an outcome.
  const region = document.createElement('div');
  region.className = 'saidaloud';
  region.setAttribute('role', 'status');
  const seen = new WeakSet();
  own.look = () => {
    away();
    if (document.querySelector('.st-key-follow_on, .presenting')) document.querySelector('.lecturestrip')?.remove();
    if (own.asks && own.asks.wants !== wants()) own.asks.stop.abort(); // it asks for something else now
    for (const lines of document.querySelectorAll('.source:not(.inside) .lines')) {
      if (seen.has(lines)) continue;
      seen.add(lines);
      if (lines.closest('.slide')) sized.observe(lines.closest('.slide'));
      toChange(lines);
    }
    const at = document.querySelector('[data-rung]')?.dataset.rung; // the rung on the page
    for (const rung of document.querySelectorAll('.rungs button')) {
      const chosen = String(rung.dataset.press === `rung ${at}`);
      if (rung.getAttribute('aria-pressed') !== chosen) rung.setAttribute('aria-pressed', chosen);
    }
    uncover(at);
    window.kernelTerms.look();
    for (const plot of document.querySelectorAll('.js-plotly-plot')) {
      mark(plot);
      if (plot.layout?.meta === 'rungs') bring(plot, at);
    }
    for (const table of document.querySelectorAll('.scroll:not([tabindex]), .st-key-labresults:not([tabindex])')) table.tabIndex = 0; // to scroll by keys
    for (const drop of document.querySelectorAll('[data-testid=stFileUploaderDropzone][role=presentation]')) drop.role = 'group'; // it has a name
    const typed = document.querySelector('.st-key-hands input');
    if (typed && !seen.has(typed)) { seen.add(typed); typed.focus(); }
    if (!region.isConnected) app().append(region);
    const said = document.querySelector('.outcome .said, .insideanswer')?.textContent ?? '';
    if (region.textContent !== said) region.textContent = said;
  };
  // A plot of all rungs is the same on each of them: it is not drawn again, only its mark moves. In a pair of bars the
  // second is that of the rung on the page.
  function mark(plot) {
    const at = document.querySelector('[data-rung]')?.dataset.rung, kind = plot.layout?.meta;
    if (kind !== 'rungs' && kind !== 'pair') return;
    const marked = kind === 'pair' ? '1' : at;
    for (const trace of plot.querySelectorAll('.barlayer .trace:first-child')) {
      for (const bar of trace.querySelectorAll('.point')) {
        bar.classList.toggle('current', String(bar.__data__?.i) === marked);
        bar.classList.toggle('empty', typeof bar.__data__?.s !== 'number'); // a number that is held back has a bar of no length
      }
    }
    plot.classList.toggle('ofrungs', kind === 'rungs');
    if (kind !== 'rungs') return;
    for (const tick of plot.querySelectorAll('.ytick')) tick.classList.toggle('current', String(tick.__data__?.x) === at);
  }
  // The bar of a rung grows as its numbers are uncovered. Both attributes change at once, so no frame between them shows
  // the whole bar. A plot may come long after the slide's title: the second one lasts until a bar has grown and its
  // number is written, or the reader goes on.
  const grown = () => document.body.removeAttribute('data-uncovered');
  document.addEventListener('animationend', (event) => event.animationName === 'grow' && setTimeout(grown, 300));
  window.addEventListener('keydown', grown, true);
  let slide = { rung: null, covered: null };
  function uncover(rung) {
    const title = document.querySelector('.presenting'), covered = title?.dataset.covered ?? null;
    if (!title && document.querySelector('.st-key-hall')) return; // the page is being replaced
    if (covered === slide.covered && rung === slide.rung) return;
    const grows = rung === slide.rung && slide.covered === 'True' && covered === 'False';
    document.body.toggleAttribute('data-covered', covered === 'True');
    document.body.toggleAttribute('data-uncovered', grows);
    slide = { rung, covered };
  }
  // A slide's source has the largest type in which all of it fits, but never one too small for the back row. If it
  // does not fit even so, there are fewer lines around each change, then less text below, then no old lines; a new line
  // is never folded.
  const sized = new ResizeObserver((slides) => {
    for (const { target } of slides) if (target.isConnected) fit(target.querySelector('.lines'));
  });
  const whole = new WeakMap(); // the lines -> their HTML
  const ROOMS = [[4, true, true], [2, true, true], [1, true, true], [1, true, false], [1, false, false], [0, false, false]];
  function fit(lines) {
    if (!whole.has(lines)) whole.set(lines, lines.innerHTML);
    lines.style.fontSize = '';
    const largest = parseFloat(getComputedStyle(lines).fontSize), least = 0.022 * innerHeight;
    const fits = () => lines.scrollHeight <= lines.clientHeight + 1;
    const broken = (size) => [...lines.querySelectorAll('.line')].some((line) => line.offsetHeight > 2 * size);
    const breaks = lines.closest('.short') ? Infinity : 0.023 * innerHeight; // above it no line need be broken
    lines.style.fontSize = `${least}px`;
    for (const [context, old, text] of ROOMS) { // lines around a change; with the old lines; with all text below
      lines.innerHTML = whole.get(lines);
      if (context < 4) fold(lines, context, old);
      lines.closest('.slide').classList.toggle('tight', !text);
      if (fits()) break;
    }
    let size = fits() ? largest : least;
    lines.style.fontSize = `${size}px`;
    while (size > least && (!fits() || (size > breaks && broken(size)))) {
      size = Math.max(least, size - 0.5);
      lines.style.fontSize = `${size}px`;
    }
    toChange(lines);
    move(lines);
  }
  // From rung to rung, each line of a slide's source moves from its old place to its new one, and new lines appear.
  const STEP = { duration: 320, easing: 'ease-in-out' };
  let places = null; // of the lines on the last slide
  function move(lines) {
    const made = { lines, tops: new Map() };
    const still = !places || places.lines === lines || matchMedia('(prefers-reduced-motion: reduce)').matches;
    const shown = [...lines.querySelectorAll('.line')].map((line) => [line, line.querySelector('.code').textContent.trim(), line.getBoundingClientRect()]);
    for (const [line, text, { top, height }] of shown) {
      if (!height) continue; // folded
      const before = still ? undefined : places.tops.get(text)?.shift();
      if (before !== undefined && before !== top) line.animate([{ transform: `translateY(${before - top}px)` }, { transform: 'none' }], STEP);
      else if (!still && before === undefined) line.animate([{ opacity: 0 }, { opacity: 0, offset: 0.4 }, { opacity: 1 }], STEP);
      made.tops.set(text, [...(made.tops.get(text) ?? []), top]);
    }
    places = made;
    lines.dataset.placed = '';
  }
  // Fold the lines further than `context` lines from a change and, without `old`, those of the rung before.
  function fold(lines, context, old) {
    let place = null;
    for (const row of [...lines.children]) {
      const kind = row.matches('.line.gone') ? !old && 'gone' : (row.matches('.fold:not(.gone)') || row.dataset.far > context) && 'far';
      if (!kind) { place = null; continue; }
      if (place?.dataset.kind !== kind) {
        place = document.createElement('details');
        place.className = kind === 'gone' ? 'gone fold' : 'fold';
        place.dataset.kind = kind;
        place.append(document.createElement('summary'));
        row.before(place);
      }
      place.append(...(row.matches('.line') ? [row] : row.querySelectorAll('.line')));
      if (!row.matches('.line')) row.remove();
      const count = place.querySelectorAll('.line').length, words = `${count} line${count > 1 ? 's' : ''}`;
      place.firstChild.innerHTML = kind === 'gone' ? `−<span> ${words} of the rung before</span>` : `⋯<span> ${words} as before</span>`;
    }
    for (const alone of lines.querySelectorAll('details.fold:not(.gone)')) { // a line takes no more room than its fold
      if (alone.querySelectorAll('.line').length === 1) alone.replaceWith(alone.lastChild);
    }
  }
  function toChange(lines) {
    const first = lines.querySelector('.found') ?? lines.querySelector('.changed, .gone');
    if (first && lines.scrollHeight > lines.clientHeight + 4) lines.scrollTop = first.offsetTop - lines.offsetTop - lines.clientHeight / 5;
  }

  // A plot higher than its place scrolls to the rung on the page, and can be scrolled by keys.
  function bring(plot, at) {
    const pane = plot.closest('.st-key-drawing'), tick = plot.querySelector('.ytick.current');
    if (!pane || !tick || plot.shownAt === at || pane.scrollHeight <= pane.clientHeight + 4) return;
    plot.shownAt = at;
    pane.tabIndex = 0;
    const [row, place] = [tick.getBoundingClientRect(), pane.getBoundingClientRect()];
    pane.scrollTop += (row.top + row.bottom - place.top - place.bottom) / 2;
  }
  let due = false;
  new MutationObserver((changes) => {
    // A new bar is marked before its first frame: there a covered bar is hidden, and an uncovered one begins to grow.
    const drawn = changes.find(({ target }) => target.closest?.('.barlayer'));
    if (drawn) mark(drawn.target.closest('.js-plotly-plot'));
    if (due || changes.every((change) => change.target === region)) return;
    due = true;
    requestAnimationFrame(() => { due = false; own.look(); });
  }).observe(document.documentElement, { childList: true, subtree: true });
  return own;
})();
