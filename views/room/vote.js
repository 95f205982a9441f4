// The question on the page for phones. A browser has one vote a round, and keeps which answer it chose.
{
  const place = document.getElementById('vote');
  const make = (name, props = {}, ...children) => { const made = Object.assign(document.createElement(name), props); made.append(...children); return made; };
  const key = (asked) => `vote ${room.state.lecture} ${asked.name} ${asked.round}`;
  const mine = (asked) => { const kept = localStorage.getItem(key(asked)); return kept === null ? null : Number(kept); };
  const letter = (i) => String.fromCharCode(65 + i);

  async function choose(asked, i) {
    const answer = await room.send('vote', { name: asked.name, round: asked.round, choice: i }).catch(() => null);
    if (answer?.ok) localStorage.setItem(key(asked), String(i));
    draw(room.state.question, answer?.ok ? '' : answer ? await answer.text() : 'The vote did not arrive: press again.');
  }

  function answers(asked) {
    return asked.choices.map((words, i) => {
      const chosen = mine(asked) === i;
      const button = make('button', { type: 'button', className: chosen ? 'choice chosen' : 'choice', onclick: () => choose(asked, i) },
        make('b', { textContent: letter(i) }), make('span', { textContent: words }));
      button.setAttribute('aria-pressed', String(chosen));
      return button;
    });
  }

  function results(asked) {
    return asked.choices.map((words, i) => {
      const right = asked.right === i, row = make('div', { className: right ? 'choice told right' : 'choice told' });
      const parts = asked.counts.map((counts) => [counts[i], counts.reduce((sum, count) => sum + count, 0)]);
      row.append(make('b', { textContent: letter(i) }), make('span', { textContent: words + (right ? ' ✓' : '') }),
        make('small', { textContent: parts.map(([count, all]) => `${count} of ${all}`).join(' → ') }));
      if (mine(asked) === i) row.classList.add('chosen');
      return row;
    });
  }

  // The number of votes changes all the time: it must not replace a button under a finger.
  let drawn = '';
  function draw(asked, told = '') {
    const shows = JSON.stringify([{ ...asked, votes: 0 }, told, asked && mine(asked)]);
    if (shows === drawn) return;
    drawn = shows;
    place.replaceChildren();
    if (!asked) return;
    const said = asked.open ? (mine(asked) === null ? 'Choose one answer; you can change it until the question is closed.' : `Your vote is ${letter(mine(asked))}; you can change it until the question is closed.`)
      : asked.right === null ? 'Closed.' : asked.because;
    place.append(make('h2', { textContent: asked.text }), ...(asked.open ? answers(asked) : results(asked)),
      make('p', { textContent: told || said, role: 'status' }));
  }

  room.watch((changed) => { if ('question' in changed || 'lecture' in changed) draw(room.state.question); });
}
