/* The page for phones: it draws the parts of the lecture's state as they change, and comes back after a lost connection.
   Other scripts of the page use `room.watch`, which calls them for every change, and `room.send`. */
window.room = (() => {
  const OPENS_MS = 4000, SILENT_MS = 9000; // longest wait for a new connection, and longest silence of an open one
  const state = { number: -1 }, watchers = [];
  const part = (id) => document.getElementById(id);
  let source = null, heard = 0, due = 0;

  const say = (words) => { if (part('connection').textContent !== words) part('connection').textContent = words; };
  const hears = () => { heard = Date.now(); };

  function take(changed) {
    Object.assign(state, changed);
    for (const watcher of watchers) watcher(changed, state);
  }

  function connect() {
    source?.close();
    due = 0;
    hears();
    source = new EventSource(`./f/stream?seen=${state.number}`);
    source.onopen = () => { hears(); say(''); };
    source.onmessage = (event) => { hears(); say(''); take(JSON.parse(event.data)); };
    source.addEventListener('beat', (event) => { hears(); take({ followers: Number(event.data) }); });
    source.onerror = lost;
  }

  // Not all at the same moment: a hall loses its connection together.
  function lost() {
    source.close();
    say('Connecting …');
    due = Date.now() + 300 + 900 * Math.random();
    fetch('./f/followers').then((answer) => { if (answer.status === 403) location.reload(); }, () => {}); // the ticket is void
  }

  const look = () => {
    if (document.hidden || !source) return;
    const silent = Date.now() - heard > (source.readyState === EventSource.OPEN ? SILENT_MS : OPENS_MS);
    if (due ? Date.now() > due : silent) connect();
  };
  setInterval(look, 250);
  for (const [target, event] of [[window, 'online'], [window, 'pageshow'], [document, 'visibilitychange']]) target.addEventListener(event, look);

  const watch = (watcher) => watchers.push(watcher);
  const send = (name, value) => fetch(`./f/${name}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) });

  const text = (id, words) => { part(id).textContent = words ?? ''; };
  watch((changed) => {
    if ('phase' in changed) {
      document.body.dataset.phase = state.phase;
      for (const each of document.querySelectorAll('.phase')) each.classList.toggle('now', each.dataset.phase === state.phase);
    }
    if (changed.ended) {
      text('last', `${state.ended.label} ${state.ended.title}`);
      part('on').href = `./?${state.ended.address}`;
    }
    if (changed.slide) draw(state.slide);
    if ('moment' in changed) {
      part('moment').hidden = !state.moment;
      text('told', state.moment?.words);
      part('drawn').src = state.moment?.drawing ? `data:image/svg+xml,${encodeURIComponent(state.moment.drawing)}` : '';
      part('drawn').hidden = !state.moment?.drawing;
    }
  });

  const kept = {}; // what is drawn: a part that stays the same keeps its place and what was unfolded in it
  function html(id, body) {
    if (kept[id] === body) return;
    kept[id] = body;
    part(id).innerHTML = body;
  }

  function draw(slide) {
    text('label', slide.label); text('title', slide.title); text('where', slide.where);
    text('step', slide.step); text('words', slide.idea); text('origin', slide.origin);
    html('numbers', slide.numbers);
    html('plot', (slide.plot ? slide.plot : '') + slide.words);
    html('code', slide.code);
    const lines = document.querySelector('#code .lines'), first = lines?.querySelector('.found, .changed');
    if (first) lines.scrollTop = first.offsetTop - lines.offsetTop - lines.clientHeight / 5;
  }

  document.addEventListener('DOMContentLoaded', connect);
  return { state, watch, send };
})();
