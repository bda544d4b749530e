// One process of the soak of objects: works in rounds and sends a sample after each step, until it is killed.
//
// Time is driven: each round moves it by more than an idle object stays in memory.

import { readdirSync } from 'node:fs';
import type { RpcStub } from '../../../src/shared/contract/object.ts';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';

export interface SoakStart {
  readonly directory: string;
  readonly objects: number;
  readonly subscriptions: number;
  /** Between two samples. */
  readonly stepMs: number;
}

export interface Sample {
  readonly rounds: number;
  readonly heapMb: number;
  readonly externalMb: number;
  /** Open files of the process. */
  readonly files: number;
  /** Made and not ended, as their finalizers know. */
  readonly instances: number;
  /** Subscriptions that objects hold beyond the permanent ones. */
  readonly held: number;
  /** Events that a subscriber did not hear. */
  readonly lost: number;
}

type Listener = RpcStub<(event: number) => void>;

let instances = 0;
const collected = new FinalizationRegistry<null>(() => {
  instances -= 1;
});
let held = 0;

class Room extends DurableObject {
  readonly #listeners = new Set<Listener>();

  constructor(ctx: DurableObject['ctx'], env: object) {
    super(ctx, env);
    instances += 1;
    collected.register(this, null);
  }
  write(value: number): number {
    this.ctx.storage.kv.put('value', value);
    return value;
  }
  join(listener: Listener): void {
    this.#listeners.add(listener.dup());
    held += 1;
  }
  leave(): void {
    for (const listener of this.#listeners) listener[Symbol.dispose]();
    held -= this.#listeners.size;
    this.#listeners.clear();
  }
  async say(event: number): Promise<void> {
    for (const listener of this.#listeners) await listener(event);
  }
  async remind(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now() + 5000);
  }
  alarm(): void {
    this.ctx.storage.kv.put('rang', true);
  }
  reset(): void {
    this.ctx.abort('by the soak');
  }
}

process.once('message', (start: SoakStart) => {
  void soak(start).catch((error) => {
    console.error(error);
    process.exit(1);
  });
});

async function soak({ directory, objects, subscriptions, stepMs }: SoakStart): Promise<void> {
  const { env, clock, deleteObject } = await createObjects({ Room }, { directory });
  await clock.set(await clock.now());
  const heard = new Map<number, number>();
  const perRoom = 10;
  const rooms = Array.from({ length: Math.ceil(subscriptions / perRoom) }, (_, n) =>
    env.Room.getByName(`lobby ${n}`),
  );
  for (const [n, room] of rooms.entries()) {
    for (let i = 0; i < perRoom; i++) {
      await room.join(() => void heard.set(n, (heard.get(n) ?? 0) + 1));
    }
  }
  let lost = 0;
  let rounds = 0;
  let nextMs = performance.now() + stepMs;
  for (;;) {
    rounds += 1;
    const at = (n: number) => env.Room.getByName(`object ${(rounds * 40 + n) % objects}`);
    await Promise.all(Array.from({ length: 40 }, (_, n) => at(n).write(rounds)));
    await at(1).remind();
    await at(2).join(() => {});
    await at(2).leave();
    await Promise.resolve(at(3).reset()).catch(() => {});
    await deleteObject(at(4));
    const n = rounds % rooms.length;
    heard.delete(n);
    await rooms[n]!.say(rounds);
    lost += perRoom - (heard.get(n) ?? 0);
    await clock.advance(15_000);
    if (performance.now() < nextMs) continue;
    nextMs = performance.now() + stepMs;
    await collect();
    const { heapUsed, external } = process.memoryUsage();
    const sample: Sample = {
      rounds,
      heapMb: Math.round(heapUsed / 1e6),
      externalMb: Math.round(external / 1e6),
      files: readdirSync('/proc/self/fd').length,
      instances,
      held: held - rooms.length * perRoom,
      lost,
    };
    process.send!(sample);
  }
}

async function collect(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
