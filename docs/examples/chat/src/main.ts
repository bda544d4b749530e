// The page: asks for a name and a room, shows what is said there, and says what is typed.

import type { Message } from './message.ts';

// The build keeps one of them.
const { openSocket } =
  import.meta.env.MODE === 'workerd'
    ? await import('./rooms-on-server.ts')
    : await import('./rooms-in-browser.ts');

/** A WebSocket of the browser, or one of the package: what both have. */
type Socket = EventTarget & { send(text: string): void };

const RETRY_MS = 1000;

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const status = element('status');
const say = element<HTMLFormElement>('say');
const text = element<HTMLInputElement>('text');

// The form that asks for them brings the reader back with both in the address.
const address = new URLSearchParams(location.search);
const author = address.get('author');
const room = address.get('room');

let socket: Socket | undefined;
let lastId = 0;

if (author && room) {
  element('enter').hidden = true;
  element('room').hidden = false;
  element('title').textContent = room;
  say.addEventListener('submit', (event) => {
    event.preventDefault();
    if (socket === undefined) return; // the text stays until there is one
    socket.send(text.value);
    say.reset();
  });
  void stay(author, room);
}

/** Opens a socket, and the next one when it ends: when a server restarts, or the tab whose worker serves is closed. */
async function stay(author: string, room: string): Promise<void> {
  const again = (reason: string) => {
    socket = undefined;
    status.textContent = reason;
    setTimeout(() => stay(author, room), RETRY_MS);
  };
  try {
    const query = new URLSearchParams({ author, after: String(lastId) });
    socket = await openSocket(room, query);
    socket.addEventListener('message', (event) => {
      show(JSON.parse((event as MessageEvent<string>).data));
    });
    socket.addEventListener('close', () => again('Connecting again …'));
    status.textContent = 'Connected';
  } catch (error) {
    again(String(error));
  }
}

function show({ id, author, text, at }: Message): void {
  lastId = id;
  const time = document.createElement('time');
  time.textContent = new Date(at).toLocaleTimeString();
  const name = document.createElement('b');
  name.textContent = author;
  const item = document.createElement('li');
  item.append(time, name, text);
  element('messages').append(item);
  item.scrollIntoView();
}
