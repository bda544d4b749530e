// The page of the benchmark of pages that follow: a device for each directory.

import { followed } from '../../../packages/follow/app/followed.ts';
import { connect, live } from '../../../src/index.ts';

interface List {
  add(name: string): Promise<void>;
  count(): Promise<number>;
}

declare global {
  interface Window {
    followBench: typeof bench;
  }
}

type Names = { getByName(name: string): List };

async function deviceOf(port: number, directory: string) {
  const address = new URL(`./objects-worker.js?port=${port}`, import.meta.url);
  const start = () => new Worker(address, { type: 'module' });
  const { env } = await connect<{ Room: never; Plain: never }>(start, { directory });
  return env as unknown as { Room: Names; Plain: Names };
}

/** A live count of a list, as a page shows it. */
class Shown {
  #count: number | undefined;
  #changed = () => {};

  constructor(list: List) {
    const { count } = live(list as never) as unknown as {
      count(): { subscribe(listener: (n: number | undefined) => void): void };
    };
    count().subscribe((n) => {
      this.#count = n;
      this.#changed();
    });
  }

  async until(count: number): Promise<void> {
    while (this.#count !== count) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }
}

const network = new BroadcastChannel('network');

/** The counts that the devices show, by directory. */
const shown = new Map<string, Shown>();

const bench = {
  /** Milliseconds of a call of a list that follows, connected or not, and of one that does not follow, on average. */
  async calls(port: number, name: string, count: number): Promise<{ own: number; plain: number }> {
    const { Room, Plain } = await deviceOf(port, 'calls');
    const timed = async (list: List) => {
      const begunMs = performance.now();
      for (let n = 0; n < count; n++) await list.add(`${n}`);
      return (performance.now() - begunMs) / count;
    };
    const room = Room.getByName(name);
    await room.count();
    const own = await timed(room);
    return { own, plain: await timed(Plain.getByName(name)) };
  },

  /** Until the list is on the server. */
  async untilCurrent(port: number, name: string): Promise<void> {
    const { Room } = await deviceOf(port, 'calls');
    const status = followed(Room.getByName(name));
    for (;;) {
      const { state, pending } = await status.read();
      if (state === 'current' && pending === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },

  /** Returns the milliseconds from the opening of a new device until its page shows this many notes. */
  async copy(port: number, directory: string, name: string, count: number): Promise<number> {
    const begunMs = performance.now();
    const { Room } = await deviceOf(port, directory);
    const list = new Shown(Room.getByName(name));
    shown.set(directory, list);
    await list.until(count);
    return performance.now() - begunMs;
  },

  /** Returns the milliseconds from the return of the network until the page of the device shows this many notes. */
  async again(directory: string, count: number): Promise<number> {
    const begunMs = performance.now();
    network.postMessage('online');
    await shown.get(directory)!.until(count);
    return performance.now() - begunMs;
  },
};

window.followBench = bench;
