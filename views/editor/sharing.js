// A draft as a file, from a file, and as a link that holds it.

export const LONGEST_LINK = 6000; // characters of the source in an address: every proxy accepts as many
const LARGEST = 256 * 1024;

export function download(name, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A sentence about a text that is too long for the server; '' for any other.
export function tooLong(name, text) {
  const size = text.length > LARGEST / 4 ? new Blob([text]).size : 0;
  return size > LARGEST ? `${name} has ${Math.ceil(size / 1024)} kB: a source has at most ${LARGEST / 1024} kB.` : '';
}

// A file's text, and the name of its encoding if it is not plain UTF-8.
export async function read(file) {
  if (file.size > LARGEST) throw new Error(`${file.name} has ${Math.ceil(file.size / 1024)} kB: a source has at most ${LARGEST / 1024} kB.`);
  const [text, encoding] = decoded(new Uint8Array(await file.arrayBuffer()));
  return { text: text.replace(/\r\n?/g, '\n'), said: encoding ? `${file.name} was read as ${encoding}; it is UTF-8 from now on.` : '' };
}

// UTF-8, UTF-16 with a byte order mark, and Windows-1252.
function decoded(bytes) {
  const [first, second, third] = bytes;
  if (first === 0xff && second === 0xfe) return [new TextDecoder('utf-16le').decode(bytes), 'UTF-16'];
  if (first === 0xfe && second === 0xff) return [new TextDecoder('utf-16be').decode(bytes), 'UTF-16'];
  const mark = first === 0xef && second === 0xbb && third === 0xbf;
  try {
    return [new TextDecoder('utf-8', { fatal: true }).decode(bytes), mark ? 'UTF-8 with a byte order mark' : ''];
  } catch { return [new TextDecoder('windows-1252').decode(bytes), 'Windows-1252']; }
}

// The page's address with the source in it, compressed. Throws a sentence if it is too long.
export async function linkOf(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate')); // zlib's format, with a check
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const source = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  if (source.length > LONGEST_LINK) {
    throw new Error(`This source is too long for a link: ${source.length.toLocaleString('en')} letters where ${LONGEST_LINK.toLocaleString('en')} fit. Send the file instead.`);
  }
  const address = new URL(location.href);
  for (const own of ['draft', 'student']) address.searchParams.delete(own); // a reader who opens the link gets a draft of their own
  address.searchParams.set('source', source);
  return address.href;
}

// Copy the text; false if the browser refuses: only pages over https and of this computer may copy by themselves.
export async function copy(words) {
  try { await navigator.clipboard.writeText(words); return true; } catch { return false; }
}
