/* The page asks the server for what stands on it at once, while Streamlit's scripts are still on their way: these would
   see whether the server lives, connect, and ask, one after the other, when all of them have run. They get this
   connection, and hear on it what has come in meanwhile. What they ask for first is what was asked for here, byte by
   byte, and goes no further; anything else does, so that it is only asked earlier and never something else. */
(() => {
  const base = new URL('.', location.href); // Streamlit's scripts lie below it, and so does its server
  // By these Streamlit connects without a look at the server first; nobody may embed the pages.
  window.__streamlit = {
    BACKEND_BASE_URL: base.href,
    HOST_CONFIG: { allowedOrigins: [location.origin], useExternalAuthToken: false },
  };
  const Socket = window.WebSocket;
  const address = new URL('_stcore/stream', base);
  address.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new Socket(address.href, ['streamlit']);
  socket.binaryType = 'arraybuffer';
  socket.addEventListener('open', () => Socket.prototype.send.call(socket, asked), { once: true });

  const heard = [];
  const keep = (event) => {
    heard.push(event.data);
    event.stopImmediatePropagation();
  };
  socket.addEventListener('message', keep);

  function take() { // Streamlit's listeners are about to be added
    if (socket.readyState === Socket.OPEN) queueMicrotask(() => socket.dispatchEvent(new Event('open')));
    socket.send = (bytes) => {
      delete socket.send;
      if (bytes.length !== asked.length || bytes.some((byte, i) => byte !== asked[i])) socket.send(bytes);
      socket.removeEventListener('message', keep);
      for (const data of heard) socket.dispatchEvent(new MessageEvent('message', { data }));
    };
    return socket;
  }
  window.WebSocket = function (url, protocols) {
    window.WebSocket = Socket;
    const ours = new URL(url, location.href).href === address.href && socket.readyState <= Socket.OPEN;
    return ours ? take() : new Socket(url, protocols);
  };
  for (const name of ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED']) window.WebSocket[name] = Socket[name];

  // A BackMsg of Streamlit's protocol with its rerun_script, as protobuf: numbers of fields, lengths, and text.
  const number = (value) => {
    const bytes = [];
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    return [...bytes, Number(rest)];
  };
  const part = (id, bytes) => [...number((id << 3) | 2), ...number(bytes.length), ...bytes];
  const text = (id, words) => (words ? part(id, new TextEncoder().encode(words)) : []);
  const count = (id, value) => [...number(id << 3), ...number(value)];
  const context = [
    ...text(1, Intl.DateTimeFormat().resolvedOptions().timeZone),
    ...count(2, new Date().getTimezoneOffset()),
    ...text(3, navigator.language),
    ...text(4, location.origin + location.pathname),
    ...count(5, 0), // embedded in no other page
    ...text(6, matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'),
  ];
  const page = decodeURIComponent(location.pathname.slice(base.pathname.length));
  const state = [...text(1, location.search.slice(1)), ...part(2, []), ...text(4, page), ...part(8, context)];
  const asked = new Uint8Array(part(11, state));
})();
