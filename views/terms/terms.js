/* Terms: a press on a marked term opens its card; E opens the cards of all terms on a slide. On the page of all terms
   it adds the drawings, and shows the term of the address. */
window.kernelTerms = (() => {
  let asked = null, card = null, opener = null, sheet = null;
  const all = () => (asked ??= fetch('./f/terms').then((answer) => answer.json()).catch(() => { asked = null; return {}; }));
  const app = () => document.querySelector('.stApp') ?? document.body;
  const numbers = (name) => document.querySelector(`.here [data-term="${CSS.escape(name)}"]`)?.textContent;

  function body(cards, name) {
    const made = document.createElement('article');
    made.innerHTML = cards[name];
    made.dataset.of = name;
    tell(made);
    return made;
  }

  // The number of the slide: an open card has it as soon as the slide does.
  function tell(made) {
    const here = numbers(made.dataset.of);
    let now = made.querySelector('.now');
    if (!here) return now?.remove();
    now ??= made.appendChild(Object.assign(document.createElement('p'), { className: 'now' }));
    if (now.textContent !== here) now.textContent = here;
  }

  async function open(term) {
    const cards = await all(), name = term.dataset.term;
    if (!cards[name] || !term.isConnected) return;
    close();
    card = document.createElement('div');
    card.className = 'termcard';
    card.popover = 'auto';
    card.tabIndex = -1;
    card.setAttribute('role', 'dialog');
    card.setAttribute('aria-label', name);
    const made = body(cards, name), link = document.createElement('a');
    link.href = `./terms#${made.querySelector('[data-anchor]').dataset.anchor}`;
    link.textContent = 'All terms';
    link.target = '_blank';
    card.append(made, link);
    const own = card;
    card.addEventListener('toggle', ({ newState }) => { if (newState === 'closed') own.remove(); });
    app().append(card);
    opener = term;
    card.showPopover();
    place(term.getBoundingClientRect());
    card.focus({ preventScroll: true });
  }

  // Below the term, or above it if there is more room; never beyond the edge.
  function place(at) {
    const { width, height } = card.getBoundingClientRect(), edge = 8;
    const below = at.bottom + 6 + height <= innerHeight - edge;
    card.style.left = `${Math.max(edge, Math.min(at.left, innerWidth - width - edge))}px`;
    card.style.top = `${Math.max(edge, Math.min(below ? at.bottom + 6 : at.top - 6 - height, innerHeight - height - edge))}px`;
  }

  function close() {
    if (card?.matches(':popover-open')) card.hidePopover();
    card?.remove();
    sheet?.remove();
    card = opener = sheet = null;
  }

  async function toggle() {
    if (sheet) return close();
    const cards = await all();
    const shown = [...document.querySelectorAll('.term')].filter((term) => term.checkVisibility()).map((term) => term.dataset.term);
    close();
    sheet = document.createElement('dialog');
    sheet.className = 'terms';
    sheet.tabIndex = 0; // scrolls by keys
    sheet.setAttribute('aria-label', 'Terms of this slide');
    sheet.append(...[...new Set(shown)].filter((name) => cards[name]).map((name) => body(cards, name)));
    sheet.addEventListener('click', close);
    sheet.addEventListener('close', close);
    app().append(sheet);
    sheet.showModal();
  }

  // Called for each change of the page.
  let anchored = '';
  async function look() {
    if (opener && !opener.isConnected) close();
    for (const made of document.querySelectorAll('article[data-of]')) tell(made);
    const drawn = document.querySelectorAll('[data-drawing]:empty');
    if (drawn.length) {
      const cards = await all();
      for (const figure of drawn) {
        const made = document.createElement('div');
        made.innerHTML = cards[figure.dataset.drawing] ?? '';
        if (figure.isConnected && made.querySelector('svg')) figure.replaceChildren(made.querySelector('svg'));
      }
    }
    const place = location.hash.startsWith('#term-') && location.hash !== anchored && document.getElementById(location.hash.slice(1));
    if (!place) return;
    anchored = location.hash;
    place.scrollIntoView();
  }

  document.addEventListener('click', (event) => {
    const term = event.target.closest?.('.term');
    if (!term) return;
    event.preventDefault(); // a term in a summary does not unfold it
    open(term);
  });
  const isOpen = () => Boolean(sheet || card?.isConnected);
  return { look, toggle, close, isOpen };
})();
