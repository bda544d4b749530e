// Opens the lists of the devices page: that of the server and those of two devices. Each has a worker and a directory
// of its own, as if they were on different machines.

import { signal } from '@preact/signals';
import { followed } from '../../packages/follow/app/followed.ts';
import { connect, live } from '../../src/index.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import { playNetwork } from './network.ts';
import type { Item } from './shopping-list.ts';

const NAME = 'home';

/** The methods that a stub of the class has. */
interface List {
  add(title: string): Promise<void>;
  tick(title: string): Promise<void>;
  remove(title: string): Promise<void>;
  items(): Promise<Item[]>;
}

interface Classes {
  ShoppingList: List;
}

/** A list that the page shows. */
export interface ShownList {
  readonly stub: List;
  readonly items: Item[] | undefined;
}

export const server = signal<ShownList | null>(null);
export const devices = signal<ReadonlyMap<string, ShownList>>(new Map());
export const problem = signal<Problem | null>(null);

const startServer = () =>
  new Worker(new URL('./cloud-worker.ts', import.meta.url), { type: 'module' });
const startDevice = (name: string) => () =>
  new Worker(new URL('./device-worker.ts', import.meta.url), { type: 'module', name });

/** Opens the list of the server and of each device, and shows each of their changes. */
export async function openLists(names: readonly string[]): Promise<void> {
  try {
    const cloud = await connect<Classes>(startServer, { directory: 'devices-server' });
    const stub = cloud.env.ShoppingList.getByName(NAME) as unknown as List;
    playNetwork((name) => cloud.env.ShoppingList.getByName(name) as never);
    restart = async () => {
      const storage = await cloud.storage(stub as never);
      await storage.abort('restarted by the visitor').catch(() => {});
    };
    show(stub, (items) => {
      server.value = { stub, items };
    });
    for (const name of names) await openDevice(name);
  } catch (error) {
    problem.value = problemOf(error);
  }
}

/** Ends the server's object, as a new deployment does. */
export let restart: () => Promise<void> = async () => {};

export function stateOf({ stub }: ShownList): ReturnType<typeof followed> {
  return followed(stub);
}

async function openDevice(name: string): Promise<void> {
  const { env } = await connect<Classes>(startDevice(name), { directory: `devices-${name}` });
  const stub = env.ShoppingList.getByName(NAME) as unknown as List;
  show(stub, (items) => {
    devices.value = new Map(devices.value).set(name, { stub, items });
  });
}

function show(stub: List, told: (items: Item[] | undefined) => void): void {
  told(undefined);
  const { items } = live(stub as never) as unknown as {
    items(): { subscribe(told: (items: Item[] | undefined) => void): void };
  };
  items().subscribe(told);
}
