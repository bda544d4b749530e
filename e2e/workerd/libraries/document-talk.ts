// Two editors of a shared document, with y-partyserver's own client: edits at the same time, awareness,
// messages, an edit while nobody is connected, and a reset of the object.

import { WebsocketProvider } from 'y-partyserver/provider';
import { Doc } from 'yjs';
import type { Ask, Talk } from './listener.ts';
import { socketsOver } from './sockets.ts';

const FOLDER = 'http://libraries/Documents';

class Editor {
  readonly doc = new Doc();
  readonly provider: WebsocketProvider;
  readonly heard: string[] = [];

  constructor(ask: Ask, clientId: number) {
    // Decides who comes first when two insert at the same place.
    this.doc.clientID = clientId;
    this.provider = new WebsocketProvider(FOLDER, 'room', this.doc, {
      WebSocketPolyfill: socketsOver(ask) as never,
      disableBc: true,
    });
    this.provider.on('custom-message', (message: string) => this.heard.push(message));
  }

  get text() {
    return this.doc.getText('text');
  }

  /** The states of the others, by their numbers. */
  get others(): Record<string, unknown> {
    const states = [...this.provider.awareness.getStates()];
    return Object.fromEntries(states.filter(([id]) => id !== this.doc.clientID));
  }

  say(message: string): void {
    this.provider.ws!.send(`__YPS:${message}`);
  }
}

export const talk: Talk = async (ask) => {
  const one = new Editor(ask, 1);
  const two = new Editor(ask, 2);
  const both = () => [one.text.toString(), two.text.toString()];
  const agree = (length: number) =>
    until(() => both().every((text) => text.length === length) && new Set(both()).size === 1);
  const settled = async () => {
    for (;;) {
      const state = await (await ask(`${FOLDER}/room`)).json();
      if (isSettled(state)) return state;
      await pause();
    }
  };
  await until(() => one.provider.synced && two.provider.synced);

  one.text.insert(0, 'hello');
  await agree(5);
  // In one turn, so that neither has heard of the other.
  one.text.insert(5, ' from one');
  two.text.insert(5, ' from two');
  two.doc.getMap('marks').set('bold', [0, 5]);
  await agree(23);
  const merged = both();

  one.provider.awareness.setLocalStateField('name', 'ann');
  await until(() => 'name' in Object(two.others[1]));
  const seen = two.others;
  two.say('hi');
  await until(() => one.heard.length === 1 && two.heard.length === 1);
  const before = await settled();

  for (const { provider } of [one, two]) provider.disconnect();
  await until(() => one.provider.ws === null && two.provider.ws === null);
  await ask(`${FOLDER}/room?reset`).catch(() => {});
  one.text.insert(0, 'again: ');
  for (const { provider } of [one, two]) provider.connect();
  await until(() => one.provider.synced && two.provider.synced);
  await agree(30);
  const after = await settled();

  one.provider.destroy();
  await until(() => Object.keys(two.others).length === 0);
  two.provider.destroy();
  return { merged, seen, heard: [one.heard, two.heard], before, after, last: two.text.toString() };
};

function isSettled(state: unknown): boolean {
  const { here, saved, awareness } = state as { here: string; saved: string; awareness: object[] };
  return here === saved && awareness.length === 2;
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await pause();
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 10));
