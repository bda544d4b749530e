// The app: it knows nothing of tests.

import { connect } from 'ctx-storage';
import type { Counter, Room } from './counter.ts';

const start = () => new Worker(new URL('./objects.worker.ts', import.meta.url), { type: 'module' });
const connected = connect<{ Counter: Counter; Room: Room }>(start);
// A stub of an object that was reset is broken for good, so each call makes its own.
const counter = async () => (await connected).env.Counter.getByName('visits');
const room = async () => (await connected).env.Room.getByName('lobby');

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

function report(error: unknown): void {
  element('problem').textContent = (error as { code?: string }).code ?? String(error);
}

async function show(by: number): Promise<void> {
  element('visits').textContent = String(await (await counter()).add(by));
  const items = (await (await room()).messages()).map((text) => {
    const item = document.createElement('li');
    item.textContent = text;
    return item;
  });
  element('messages').replaceChildren(...items);
}

async function say(text: string): Promise<void> {
  await (await room()).say(text);
  await show(0);
}

element('visit').addEventListener('click', () => void show(1).catch(report));
element<HTMLFormElement>('say').addEventListener('submit', (event) => {
  event.preventDefault();
  const { text } = event.currentTarget as unknown as { text: HTMLInputElement };
  void say(text.value).catch(report);
});
void show(0).catch(report);
