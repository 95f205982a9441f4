// A question for the lecturer, who reads it in the second window; it never stands on the slide.
{
  const form = document.createElement('form'), place = document.getElementById('ask');
  form.innerHTML = '<label for="question">Ask the lecturer</label><input id="question" maxlength="300" autocomplete="off"><button>Send</button><p role="status"></p>';
  const said = form.querySelector('[role=status]'), field = form.querySelector('input');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (!field.value.trim()) return;
    const answer = await room.send('ask', { text: field.value }).catch(() => null);
    said.textContent = answer?.ok ? 'The lecturer has your question.' : answer ? await answer.text() : 'The question did not arrive: send it again.';
    if (answer?.ok) field.value = '';
  });
  room.watch((changed, state) => {
    if (!('phase' in changed)) return;
    if (state.phase === 'during') place.replaceChildren(form); else place.replaceChildren();
  });
}
