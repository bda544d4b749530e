// The page: asks for a name and a room, shows what is said there, and says what is typed.

import type { Message } from './message.ts';

// The build keeps one of them.
const rooms = () =>
  import.meta.env.MODE === 'workerd'
    ? import('./rooms-on-server.ts')
    : import('./rooms-in-browser.ts');

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

/** Undefined: it cannot be said now. */
let send: ((text: string) => void) | undefined;
let lastId = 0;

if (author && room) {
  element('enter').hidden = true;
  element('room').hidden = false;
  element('title').textContent = room;
  say.addEventListener('submit', (event) => {
    event.preventDefault();
    if (send === undefined) return; // the text stays until it can be
    send(text.value);
    say.reset();
  });
  if (import.meta.env.MODE === 'follow') void followRoom(author, room);
  else void stay(author, room);
}

/** Opens a socket, and the next one when it ends: when a server restarts, or the tab whose worker serves is closed. */
async function stay(author: string, room: string): Promise<void> {
  const again = (reason: string) => {
    send = undefined;
    status.textContent = reason;
    setTimeout(() => stay(author, room), RETRY_MS);
  };
  try {
    const query = new URLSearchParams({ author, after: String(lastId) });
    const { openSocket } = await rooms();
    const socket: Socket = await openSocket(room, query);
    socket.addEventListener('message', (event) => {
      show(JSON.parse((event as MessageEvent<string>).data));
    });
    socket.addEventListener('close', () => again('Connecting again …'));
    send = (text) => socket.send(text);
    status.textContent = 'Connected';
  } catch (error) {
    again(String(error));
  }
}

/** Shows a copy of the room: the server may put right what was said here, so each time all is shown again. */
async function followRoom(author: string, room: string): Promise<void> {
  const showAll = (messages: Message[]) => {
    element('messages').replaceChildren();
    messages.forEach(show);
  };
  const tell = (text: string) => {
    status.textContent = text;
  };
  try {
    const { openFollowed } = await import('./follow/followed-room.ts');
    const copy = await openFollowed(room, showAll, tell);
    send = (text) => {
      copy.say(author, text).catch((error) => tell(String(error)));
    };
  } catch (error) {
    tell(String(error));
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
