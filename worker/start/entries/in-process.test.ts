// Tests objects in a thread that, as in a browser, knows a task only by the turn that it runs in, because nothing shows
// which task an `await` continues. Node's `AsyncLocalStorage`, which would show it, is hidden from the modules.

import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

const START_MS = Date.UTC(2030, 0, 1);
const wasm = new Uint8Array(
  readFileSync(new URL('../../engine/vfs/sqlite3.wasm', import.meta.url)),
);
const systemTimeout = globalThis.setTimeout;

/** Counts the calls of `wait` that have begun in all objects. */
let waitsBegun = 0;

let library: typeof import('../../realm/library/library.ts');
let entry: typeof import('./in-process.ts');
beforeAll(async () => {
  vi.resetModules();
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
  library = await import('../../realm/library/library.ts');
  entry = await import('./in-process.ts');
});
afterAll(() => {
  vi.restoreAllMocks();
  vi.resetModules();
});

interface NotesOf {
  getByName(name: string): { note(text: string): Promise<number> };
}

function create() {
  class Notes extends library.DurableObject {
    notes: string[] = [];
    note(text: string): number {
      return this.notes.push(text);
    }
    async put(text: string): Promise<number> {
      await this.ctx.storage.put('text', text);
      return Date.now();
    }
    abort(): void {
      this.ctx.abort('on purpose');
    }
    async wait(delayMs: number): Promise<number> {
      const begunMs = Date.now();
      waitsBegun++;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      return Date.now() - begunMs;
    }
    /** Returns the answer of another object after awaiting a promise that belongs to no object. */
    async passOn(text: string): Promise<number> {
      await new Promise((resolve) => systemTimeout(resolve, 5));
      return (this.env as { Notes: NotesOf }).Notes.getByName('other').note(text);
    }
    async askItself(): Promise<number[]> {
      const now = new library.RpcStub(() => Date.now()) as unknown as () => Promise<number>;
      return [await now(), Date.now()];
    }
    async call(back: () => unknown): Promise<unknown> {
      return back();
    }
    async read(stream: ReadableStream<Uint8Array>): Promise<string> {
      return new Response(stream).text();
    }
    fetch(): Response {
      return new Response('body');
    }
  }
  return entry.createObjects({ Notes }, { wasm });
}
let objects: Awaited<ReturnType<typeof create>>;
beforeEach(async () => {
  objects = await create();
  await objects.clock.set(START_MS);
});
afterEach(() => objects.close());

/** Returns whether the running code belongs to no object, and so sees the platform's time and timers. */
async function isOutside(): Promise<boolean> {
  const now = Date.now();
  const fired = new Promise<true>((resolve) => setTimeout(() => resolve(true), 1));
  const isLate = new Promise<false>((resolve) => systemTimeout(resolve, 2000, false));
  return now !== START_MS && (await Promise.race([fired, isLate]));
}

describe('code beside the objects, by turns', () => {
  test('[NODE14] is outside after it awaited a call, whatever it called', async () => {
    const notes = objects.env.Notes.getByName('a');
    expect(await notes.note('first')).toBe(1);
    expect(await isOutside()).toBe(true);
    expect(await notes.put('text')).toBe(START_MS);
    expect(await isOutside()).toBe(true);
    const response = await notes.fetch('https://object/');
    expect(await response.text()).toBe('body');
    expect(await isOutside()).toBe(true);
    expect(await objects.list('Notes')).toHaveLength(1);
    expect(await isOutside()).toBe(true);
    await objects.deleteObject(notes);
    expect(await isOutside()).toBe(true);
    await objects.clock.advance(0);
    expect(await isOutside()).toBe(true);
  });

  test('[NODE14] is outside while a call of it runs', async () => {
    const notes = objects.env.Notes.getByName('a');
    await notes.note('opened');
    const begunBefore = waitsBegun;
    const waiting = notes.wait(100);
    await vi.waitUntil(() => waitsBegun > begunBefore);
    // No call has ended since, so nothing but the next turn has led out of the object.
    await new Promise((resolve) => systemTimeout(resolve));
    expect(await isOutside()).toBe(true);
    const calls = [notes.note('one'), notes.note('two'), waiting];
    const seen: boolean[] = [];
    for (let i = 0; i < 10; i++) {
      await null;
      seen.push(Date.now() !== START_MS);
    }
    expect(new Set(seen)).toEqual(new Set([true]));
    expect(await isOutside()).toBe(true);
    await objects.clock.advance(100);
    expect(await Promise.all(calls)).toEqual([2, 3, 100]);
  });

  test('[NODE14] is outside when an object calls it back, and the object goes on as itself', async () => {
    const notes = objects.env.Notes.getByName('a');
    expect(await notes.call(() => isOutside())).toBe(true);
    expect(await notes.put('x')).toBe(START_MS);
  });

  test('[STUB14] a call by env is of its object, also after a promise that nobody follows: a reset object makes none', async () => {
    const notes = objects.env.Notes.getByName('a');
    expect(await notes.passOn('first')).toBe(1);
    const late = notes.passOn('late').catch((error: Error) => error.message);
    await notes.abort().catch(() => {});
    expect(await late).toBe('on purpose');
    await new Promise((resolve) => systemTimeout(resolve, 50));
    expect(await objects.env.Notes.getByName('other').note('last')).toBe(2);
  });

  test('[STUB24] an object that calls its own stub goes on as itself', async () => {
    const notes = objects.env.Notes.getByName('a');
    expect(await notes.askItself()).toEqual([START_MS, START_MS]);
  });

  test('[NODE4] a host that was closed leaves no port open, which would keep a process alive', async () => {
    const isPort = (name: string) => name === 'MessagePort';
    const countPorts = () => process.getActiveResourcesInfo().filter(isPort).length;
    const before = countPorts(); // those of earlier tests may still be on their way out
    const other = await create();
    expect(await other.env.Notes.getByName('a').note('text')).toBe(1);
    await other.close();
    await expect(other.env.Notes.getByName('a').note('late')).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
    });
    await vi.waitFor(() => expect(countPorts()).toBeLessThanOrEqual(before));
  });

  test('[STUB46] a kept stub reaches the next instance; a call made before the reset is lost, though it arrives after it', async () => {
    const notes = objects.env.Notes.getByName('a');
    await notes.note('opened');
    const calls = [notes.abort(), notes.note('behind'), notes.note('behind')];
    const outcomes = await Promise.all(calls.map((call) => Promise.resolve(call).catch(String)));
    expect(outcomes).toEqual(Array(3).fill('Error: on purpose'));
    expect(await Promise.all([notes.note('first'), notes.note('second')])).toEqual([1, 2]);
  });

  test('[NODE11] two hosts each keep their time', async () => {
    const other = await create();
    const waiting = objects.env.Notes.getByName('a').wait(1000);
    expect(await other.env.Notes.getByName('a').wait(5)).toBeLessThan(1000);
    await other.close();
    await objects.clock.advance(1000);
    expect(await waiting).toBe(1000);
  });
});
