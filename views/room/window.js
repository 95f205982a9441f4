/* The presenter's second window. Its keys go to the slide's window, which steps; the server tells what it shows. */
{
  const key = location.hash.slice(1), slide = new BroadcastChannel('kernel-ladder');
  const part = (id) => document.getElementById(id);
  const text = (id, words) => { part(id).textContent = words ?? ''; };
  const send = (name, value) => fetch(`./presenter/${name}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ key, ...value }) });
  const typing = () => document.activeElement === part('text');
  const kept = {};
  const html = (id, body) => { if (kept[id] !== body) { kept[id] = body; part(id).innerHTML = body; } };

  const pause = () => new Promise((done) => setTimeout(done, 1000));
  let seen = 0;
  async function look() {
    try {
      const answer = await fetch('./presenter/state', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ key, seen }) });
      text('told', answer.ok ? '' : 'The lecture is over, or this window belongs to an earlier one.');
      if (!answer.ok) return false;
      const state = await answer.json();
      seen = state.number;
      draw(state);
      return true;
    } catch { text('told', 'Connecting …'); return false; }
  }
  (async () => { for (;;) if (!await look()) await pause(); })(); // the server answers once something has changed

  const again = () => { seen = 0; look(); };

  let note = { text: '' };
  function draw(state) {
    const now = state.slide;
    if (now) {
      text('where', now.where); text('label', now.label); text('title', now.title); text('step', now.step);
      html('numbers', now.numbers);
      html('plot', now.plot + now.words);
    }
    part('next').hidden = !state.next;
    if (state.next) { text('nextlabel', state.next.label); text('nexttitle', state.next.title); text('nextlead', state.next.lead); text('nextnumbers', state.next.numbers); }
    if (!typing()) { note = state.note; html('note', note.html || '<p>No notes for this rung yet.</p>'); part('takeback').hidden = !note.edited; }
    text('followers', state.followers);
    const asked = state.question;
    text('question', !asked ? '' : `${asked.text} ${asked.open ? `${asked.votes} votes so far` : `closed: ${asked.counts.map((counts) => counts.join(' / ')).join(' → ')}`}`);
    part('asked').replaceChildren(...state.asked.map((one) => {
      const row = document.createElement('li'), words = document.createElement('span'), button = document.createElement('button');
      words.textContent = `${one.slide}: ${one.text}`;
      Object.assign(button, { type: 'button', textContent: 'Done', onclick: () => send('done', { id: one.id }).then(again) });
      row.append(words, button);
      return row;
    }));
  }

  part('edit').onclick = () => {
    const editing = part('text').hidden;
    part('text').hidden = !editing; part('note').hidden = editing;
    part('edit').textContent = editing ? 'Save' : 'Edit';
    if (editing) { part('text').value = note.text; part('text').focus(); return; }
    document.activeElement.blur();
    send('note', { text: part('text').value }).then(again);
  };
  part('takeback').onclick = () => send('note', { text: null }).then(again);

  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing()) return;
    if (event.key === 'Tab' || (event.key === ' ' && document.activeElement?.matches('button')) || event.key === 'Enter') return;
    event.preventDefault();
    slide.postMessage({ key: event.key, shiftKey: event.shiftKey });
  });

  let began = Date.now(), paused = null;
  const elapsed = () => Math.floor(((paused ?? Date.now()) - began) / 1000);
  setInterval(() => {
    text('clock', new Date().toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }));
    text('elapsed', `${Math.floor(elapsed() / 60)}:${String(elapsed() % 60).padStart(2, '0')}`);
  }, 250);
  part('pause').onclick = () => {
    if (paused === null) paused = Date.now(); else { began += Date.now() - paused; paused = null; }
    part('pause').textContent = paused === null ? 'Pause' : 'Go on';
  };
  part('reset').onclick = () => { began = Date.now(); if (paused !== null) paused = began; };
}
