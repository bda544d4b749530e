// The page: asks for a name and a room, shows what is said there, and says what is typed. A server asks for a password,
// too; in this browser's own rooms nobody else is let in.

import type { Message } from './message.ts';
import { signIn, signOut, userName } from './user.ts';

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
const enter = element<HTMLFormElement>('enter');
const say = element<HTMLFormElement>('say');
const text = element<HTMLInputElement>('text');

const hasServer = import.meta.env.MODE === 'workerd' || import.meta.env.MODE === 'follow';

// The form brings the reader back with the room in the address; without a server, with the name, too.
const address = new URLSearchParams(location.search);
const author = hasServer ? await userName() : address.get('author');
const room = address.get('room');

/** Undefined: it cannot be said now. */
let send: ((text: string) => void) | undefined;
let lastId = 0;

if (hasServer) {
  for (const id of ['password', 'leave']) element(id).hidden = false;
  element('password').querySelector('input')!.disabled = false;
  enter.addEventListener('submit', (event) => {
    event.preventDefault();
    const given = (name: string) => String(new FormData(enter).get(name));
    signIn(given('author'), given('password')).then(
      () => location.assign(`?${new URLSearchParams({ room: given('room') })}`),
      (error) => tell(String(error)),
    );
  });
  element('leave').addEventListener('click', () => {
    signOut().then(
      () => location.assign('?'),
      (error) => tell(String(error)),
    );
  });
}
if (!author || !room) {
  enter.hidden = false;
} else {
  tell('Connecting …');
  element('room').hidden = false;
  element('title').textContent = room;
  say.addEventListener('submit', (event) => {
    event.preventDefault();
    if (send === undefined) return; // the text stays until it can be
    send(text.value);
    say.reset();
  });
  if (import.meta.env.MODE === 'follow') void followRoom(room);
  else void stay(author, room);
}

/** Opens a socket, and the next one when it ends: when a server restarts, or the tab whose worker serves is closed. */
async function stay(author: string, room: string): Promise<void> {
  const again = (reason: string) => {
    send = undefined;
    tell(reason);
    setTimeout(() => stay(author, room), RETRY_MS);
  };
  try {
    const { openSocket } = await rooms();
    const socket: Socket = await openSocket(room, lastId, author);
    socket.addEventListener('message', (event) => {
      show(JSON.parse((event as MessageEvent<string>).data));
    });
    socket.addEventListener('close', () => again('Connecting again …'));
    send = (text) => socket.send(text);
    tell('Connected');
  } catch (error) {
    again(String(error));
  }
}

/** Shows a copy of the room: the server may put right what was said here, so each time all is shown again. */
async function followRoom(room: string): Promise<void> {
  const showAll = (messages: Message[]) => {
    element('messages').replaceChildren();
    messages.forEach(show);
  };
  try {
    const { openFollowed } = await import('./follow/followed-room.ts');
    const copy = await openFollowed(room, showAll, tell);
    send = (text) => {
      copy.say(text).catch((error) => tell(String(error)));
    };
  } catch (error) {
    tell(String(error));
  }
}

/** Says how the page is connected. If the session has ended, the form is shown again. */
function tell(connection: string): void {
  status.textContent = connection;
  if (connection.startsWith('Signed out')) enter.hidden = false;
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
