import { execFile, spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DurableObjectNamespace } from '../../../src/shared/contract/object.ts';
import { nodeFileError } from '../../engine/file/node-file.ts';
import { createObjects as createInProcess, MemoryMedium } from './in-process.ts';
import * as library from './node-library.ts';
import { createObjects, DurableObject } from './node-objects.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ctx-storage-node-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

interface Env {
  readonly PREFIX: string;
  readonly Counter: DurableObjectNamespace<Counter>;
}

class Counter extends DurableObject<Env> {
  async add(amount = 1): Promise<number> {
    const count = ((await this.ctx.storage.get<number>('count')) ?? 0) + amount;
    await this.ctx.storage.put('count', count);
    return count;
  }

  async addElsewhere(name: string): Promise<string> {
    return `${this.env.PREFIX}${await this.env.Counter.getByName(name).add()}`;
  }

  fetch(request: Request): Response {
    return new Response(`${request.method} ${new URL(request.url).pathname}`);
  }
}

describe('objects in Node', () => {
  test('[STUB15] without bindsClassNames, env has the bindings, and a variable with the name of a class', async () => {
    class Names extends DurableObject<Record<string, unknown>> {
      names(): string[] {
        return Object.entries(this.env).map(([name, value]) => `${name} ${typeof value}`);
      }
    }
    const objects = await createObjects(
      { Names, Counter },
      { bindings: { NAMES: 'Names' }, bindsClassNames: false, env: { Names: 'a variable' } },
    );
    const { NAMES } = objects.env as unknown as { NAMES: DurableObjectNamespace<Names> };
    expect(await NAMES.getByName('a').names()).toEqual(['Names string', 'NAMES object']);
    expect(() => objects.env.Counter).toThrow('it serves: NAMES');
    expect(await objects.list('Names')).toMatchObject([{ className: 'Names' }]);
    expect(await objects.list('Counter')).toEqual([]);
    await expect(objects.list('Other' as never)).rejects.toMatchObject({ code: 'UNKNOWN_CLASS' });
    await objects.close();
  });

  test('[NODE26] a folder that is deleted while it is in use takes no more writes', async () => {
    const objects = await createObjects({ Counter }, { directory });
    const [a, b] = ['a', 'b'].map((name) => objects.env.Counter.getByName(name));
    await a!.add(3);
    rmSync(directory, { recursive: true });
    await expect(a!.add()).rejects.toMatchObject({
      code: 'OBJECT_MISSING',
      message: expect.stringContaining('deleted while it is in use'),
    });
    await expect(a!.add()).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
    await expect(b!.add()).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
    await objects.close().catch(() => {}); // the catalog is gone too
    mkdirSync(directory, { recursive: true });
  });

  test('[NODE26] the folder of one object that is deleted makes that object missing, and no other', async () => {
    const objects = await createObjects({ Counter }, { directory });
    const [a, b] = ['a', 'b'].map((name) => objects.env.Counter.getByName(name));
    await Promise.all([a!.add(3), b!.add(3)]);
    rmSync(join(directory, `Counter.${a!.id}`), { recursive: true });
    await expect(a!.add()).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
    await expect(a!.add()).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
    expect(await b!.add()).toBe(4);
    await objects.deleteObject(a!);
    expect(await objects.env.Counter.getByName('a').add()).toBe(1);
    await objects.close();
  });

  test('[NODE27] a folder where a file belongs, or the reverse, and a disk that is only read have codes', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    for (const path of [file, join(file, 'below')]) {
      await expect(createObjects({ Counter }, { directory: path })).rejects.toMatchObject({
        code: 'PATH_CONFLICT',
        message: expect.stringContaining(path),
      });
    }
    mkdirSync(join(directory, 'objects', 'catalog'), { recursive: true });
    const objects = createObjects({ Counter }, { directory: join(directory, 'objects') });
    await expect(objects).rejects.toMatchObject({ code: 'PATH_CONFLICT' });
    for (const code of ['EROFS', 'EACCES']) {
      const cause = Object.assign(new Error(`${code}: refused, open`), { code });
      expect(nodeFileError('open "main"', cause)).toMatchObject({
        code: 'NOT_WRITABLE',
        message: expect.stringMatching(/^open "main": .*may not be written.*choose another folder/),
        cause,
      });
    }
  });

  test('[NODE28] a directory that is no path in text is refused, with the way out', async () => {
    for (const wrong of [pathToFileURL(directory), '', 5, null, `${directory}\0`]) {
      const objects = createObjects({ Counter }, { directory: wrong as never });
      await expect(objects).rejects.toMatchObject({
        name: 'TypeError',
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/directory.*fileURLToPath/),
      });
    }
  });

  test('[OBJ15] after the end of its host, nothing is listed or deleted, on disk or in memory', async () => {
    for (const options of [{ directory }, {}]) {
      const objects = await createObjects({ Counter }, options);
      const a = objects.env.Counter.getByName('a');
      await a.add();
      await objects.close();
      const closed = { code: 'CONNECTION_CLOSED' };
      await expect(objects.deleteObject(a)).rejects.toMatchObject(closed);
      await expect(objects.list('Counter')).rejects.toMatchObject(closed);
    }
    const again = await createObjects({ Counter }, { directory });
    expect(await again.env.Counter.getByName('a').add(0)).toBe(1);
    await again.close();
  });

  test('[NODE1] classes run in this process', async () => {
    const objects = await createObjects({ Counter }, { env: { PREFIX: 'count ' } });
    const { Counter: counters } = objects.env;
    const a = counters.getByName('a');
    expect(await Promise.all([a.add(), a.add(), a.add(5)])).toEqual([1, 2, 7]);
    expect(await a.addElsewhere('b')).toBe('count 1');
    expect(await counters.getByName('b').add()).toBe(2);
    expect(await (await a.fetch('https://object/path', { method: 'POST' })).text()).toBe(
      'POST /path',
    );
    await objects.close();
  });

  test('[NODE1] without a folder, the data is in memory, and of one host alone', async () => {
    const before = readdirSync('.');
    const first = await createObjects({ Counter });
    expect(await first.env.Counter.getByName('a').add(3)).toBe(3);
    const beside = await createObjects({ Counter });
    expect(await beside.env.Counter.getByName('a').add()).toBe(1);
    expect(readdirSync('.')).toEqual(before);
    await first.close();
    const after = await createObjects({ Counter });
    expect(await after.env.Counter.getByName('a').add()).toBe(1);
    await Promise.all([beside.close(), after.close()]);
  });

  test('[NODE1] objects of a folder outlive the host', async () => {
    const first = await createObjects({ Counter }, { directory });
    await first.env.Counter.getByName('a').add(3);
    await first.close();
    const second = await createObjects({ Counter }, { directory });
    expect(await second.env.Counter.getByName('a').add()).toBe(4);
    await second.close();
  });

  test.skipIf(process.platform === 'win32')(
    '[NODE25] the folder and all in it are for its owner alone',
    async () => {
      const umask = process.umask(0);
      try {
        const folder = join(directory, 'new');
        const objects = await createObjects({ Counter }, { directory: folder });
        await objects.env.Counter.getByName('a').add(1);
        const names = ['.', ...(readdirSync(folder, { recursive: true }) as string[])];
        expect(names.length).toBeGreaterThan(4);
        const open = names
          .map((name) => ({ name, found: statSync(join(folder, name)) }))
          .filter(({ found }) => found.isFile() || found.isDirectory())
          .filter(({ found }) => (found.mode & 0o777) !== (found.isFile() ? 0o600 : 0o700));
        expect(open.map(({ name }) => name)).toEqual([]);
        await objects.close();
      } finally {
        process.umask(umask);
      }
    },
  );

  test('[NODE3] a folder belongs to one process; a killed one lets it go', async () => {
    const objects = await createObjects({ Counter }, { directory });
    await expect(createObjects({ Counter }, { directory })).rejects.toMatchObject({
      code: 'STORAGE_LOCKED',
    });
    await objects.close();

    const killed = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const lock = { pid: killed.pid, machine: (await import('node:os')).hostname() };
    writeFileSync(join(directory, 'host.lock'), JSON.stringify(lock));
    await expect(createObjects({ Counter }, { directory })).rejects.toThrow(String(killed.pid));
    const exited = new Promise((resolve) => killed.once('exit', resolve));
    killed.kill('SIGKILL');
    await exited;
    const again = await createObjects({ Counter }, { directory });
    await again.close();
  });

  test('[NODE3] a folder is free again when its host could not start', async () => {
    const catalog = join(directory, 'catalog');
    mkdirSync(catalog); // a file was expected
    const limits = { queryMs: -1 };
    await expect(createObjects({ Counter }, { directory })).rejects.toMatchObject({
      code: 'PATH_CONFLICT',
    });
    rmdirSync(catalog);
    await expect(createObjects({ Counter }, { directory, limits })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    const objects = await createObjects({ Counter }, { directory });
    expect(await objects.env.Counter.getByName('a').add()).toBe(1);
    await objects.close();
  });

  test('[NODE4] neither idle objects nor alarms keep the process alive', {
    tags: 'long',
  }, async () => {
    const program = join(directory, 'program.mts');
    const entry = new URL('./node-objects.ts', import.meta.url).pathname;
    writeFileSync(
      program,
      `import { createObjects, DurableObject } from ${JSON.stringify(entry)};
       class Clock extends DurableObject {
         async begin() { await this.ctx.storage.setAlarm(Date.now() + 3_600_000); return 'set'; }
         alarm() {}
       }
       const { env } = await createObjects({ Clock }, { idleMs: 3_600_000 });
       console.log(await env.Clock.getByName('a').begin());`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program], {
      timeout: 60_000, // a process that is kept alive is killed, which rejects
    });
    expect(stdout.trim()).toBe('set');
  });

  test('[NODE5] alarms run by a clock that the test drives; object code sees its time', async () => {
    const runs: [number, number][] = [];
    class Clocked extends DurableObject {
      async begin(delayMs: number): Promise<number> {
        const time = Date.now() + delayMs;
        await this.ctx.storage.setAlarm(time);
        return time;
      }
      async wait(delayMs: number): Promise<number> {
        const begun = Date.now();
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        return Date.now() - begun;
      }
      alarm({ scheduledTime }: { scheduledTime: number }): void {
        runs.push([scheduledTime, Date.now()]);
        if (runs.length === 1) throw new Error('once more');
      }
    }
    const objects = await createObjects({ Clocked }, { directory });
    const { clock, env } = objects;
    await clock.set(Date.UTC(2040, 0, 1));
    const dueTime = await env.Clocked.getByName('a').begin(86_400_000);
    expect(dueTime).toBe(Date.UTC(2040, 0, 2));
    expect(await objects.list('Clocked')).toMatchObject([
      { className: 'Clocked', id: { name: 'a' }, nextAlarm: dueTime },
    ]);
    const waited = env.Clocked.getByName('b').wait(5000);
    await clock.advance(5000);
    expect(await waited).toBe(5000);

    const ran = await clock.runNextAlarm();
    expect(ran).toMatchObject({ className: 'Clocked', id: { name: 'a' }, dueTime });
    expect(runs).toEqual([[dueTime, dueTime]]);
    await clock.advance(3000);
    expect(runs).toHaveLength(2);
    expect(await clock.runNextAlarm()).toBeNull();
    expect(Math.abs(Date.now() - (await clock.now()))).toBeGreaterThan(1e9);
    expect(new Date()).toBeInstanceOf(Date);
    await clock.resume();
    expect(Math.abs(Date.now() - (await clock.now()))).toBeLessThan(1e9);
    await objects.close();
  });

  test('[NODE6] objects are listed and deleted', async () => {
    const objects = await createObjects(
      { Counter },
      { directory, bindings: { COUNTER: 'Counter' } },
    );
    const stub = objects.env.Counter.getByName('a');
    await stub.add();
    const [listed] = await objects.list('COUNTER' as 'Counter');
    expect(listed?.sizeBytes).toBeGreaterThan(0);
    await objects.deleteObject(stub);
    expect(await objects.list('Counter')).toEqual([]);
    expect(await stub.add()).toBe(1);
    await expect(objects.deleteObject({} as never)).rejects.toMatchObject({
      name: 'TypeError',
      code: 'INVALID_ARGUMENT',
    });
    await expect(objects.list('Missing' as never)).rejects.toMatchObject({
      code: 'UNKNOWN_CLASS',
    });
    await objects.close();
  });

  test.for(['memory', 'a folder'])(
    '[MANY8] in %s, opening 250 objects evicts none that was used before',
    { tags: 'long' },
    async (where) => {
      class Counted extends Counter {
        calls = 0;
        call(): number {
          this.ctx.storage.kv.put('calls', ++this.calls);
          return this.calls;
        }
      }
      const objects = await createObjects({ Counted }, where === 'memory' ? {} : { directory });
      const stubs = Array.from({ length: 250 }, (_, n) => objects.env.Counted.getByName(`${n}`));
      await Promise.all(stubs.map((stub) => stub.call()));
      expect(await Promise.all(stubs.map((stub) => stub.call()))).toEqual(stubs.map(() => 2));
      await objects.close();
    },
  );

  test('[MANY6] many objects are listed as a whole or in parts, in order of their ids', async () => {
    const objects = await createObjects({ Counter }, { directory, limits: { openFiles: 16 } });
    const names = Array.from({ length: 12 }, (_, n) => `counter ${n}`);
    await Promise.all(names.map((name) => objects.env.Counter.getByName(name).add()));
    const ids = (await objects.list('Counter')).map(({ id }) => id.toString());
    expect(ids).toEqual(
      names.map((name) => objects.env.Counter.idFromName(name).toString()).sort(),
    );
    const parts: string[][] = [];
    for (let startAfter: string | undefined; ; startAfter = parts.at(-1)!.at(-1)!) {
      const options = { limit: 5, ...(startAfter !== undefined && { startAfter }) };
      const part = await objects.list('Counter', options);
      if (part.length === 0) break;
      parts.push(part.map(({ id }) => id.toString()));
    }
    expect(parts.map(({ length }) => length)).toEqual([5, 5, 2]);
    expect(parts.flat()).toEqual(ids);
    for (const options of [{ limit: 0 }, { limit: 1.5 }, { startAfter: 'not an id' }]) {
      await expect(objects.list('Counter', options)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
    await objects.close();
  });

  test('[NODE7] a socket of an object reaches a caller in the same process', async () => {
    class Echo extends DurableObject {
      fetch(): Response {
        const { WebSocketPair } = globalThis as unknown as { WebSocketPair: new () => never[] };
        const [client, server] = Object.values(new WebSocketPair());
        this.ctx.acceptWebSocket(server!);
        return new Response(null, { status: 101, webSocket: client } as ResponseInit);
      }
      webSocketMessage(socket: { send(message: string): void }, message: string): void {
        socket.send(`echo ${message}`);
      }
    }
    const objects = await createObjects({ Echo });
    const response = await objects.env.Echo.getByName('a').fetch('https://object/', {
      headers: { Upgrade: 'websocket' },
    });
    const webSocket = response.webSocket!;
    const heard = new Promise((resolve) => {
      webSocket.addEventListener('message', (event) => resolve((event as MessageEvent).data));
    });
    webSocket.accept();
    webSocket.send('hi');
    expect(await heard).toBe('echo hi');
    webSocket.close(1000, 'done');
    await objects.close();
  });

  test('[OBJ3] an object whose timer is set stays in memory; a timer that throws is reported', async () => {
    class Waiter extends DurableObject {
      readonly made = crypto.randomUUID();
      madeAs(): string {
        return this.made;
      }
      wait(delayMs: number): void {
        setTimeout(() => {
          throw new Error('of the timer');
        }, delayMs);
      }
    }
    const { clock, env, close } = await createObjects({ Waiter });
    const stub = env.Waiter.getByName('a');
    await clock.set(0);
    await stub.wait(60_000);
    const made = await stub.madeAs();
    await clock.advance(59_000);
    expect(await stub.madeAs()).toBe(made);
    const reports: unknown[] = [];
    const { error } = console;
    console.error = (...report: unknown[]) => reports.push(report);
    await clock.advance(1000);
    console.error = error;
    expect(String(reports)).toContain('of the timer');
    expect(await stub.madeAs()).toBe(made);
    await clock.advance(11_000);
    expect(await stub.madeAs()).not.toBe(made);
    await close();
  });

  test('[NODE8] in any runtime: on a medium that is passed, and memory is lost after a time of choice', async () => {
    class Counter extends DurableObject {
      count = 0;
      async add(): Promise<[number, number]> {
        this.count += 1;
        const stored = ((await this.ctx.storage.get<number>('count')) ?? 0) + 1;
        await this.ctx.storage.put('count', stored);
        return [this.count, stored];
      }
    }
    const wasm = new Uint8Array(
      readFileSync(new URL('../../engine/vfs/sqlite3.wasm', import.meta.url)),
    );
    const medium = new MemoryMedium();
    const first = await createInProcess({ Counter }, { wasm, medium, idleMs: 1000 });
    await first.clock.set(0);
    const stub = first.env.Counter.getByName('a');
    expect([await stub.add(), await stub.add()]).toEqual([
      [1, 1],
      [2, 2],
    ]);
    await first.clock.advance(999);
    expect(await stub.add()).toEqual([3, 3]);
    await first.clock.advance(1001);
    expect(await stub.add()).toEqual([1, 4]);
    await first.close();
    const second = await createInProcess({ Counter }, { wasm, medium });
    expect(await second.env.Counter.getByName('a').add()).toEqual([1, 5]);
    await second.close();
  });

  test('[NODE10] serve() says where it runs; the base classes are those of the host', () => {
    expect(() => library.serve()).toThrowError(expect.objectContaining({ code: 'WORKER_FAILED' }));
    expect(library.DurableObject).toBe(DurableObject);
  });

  test("[NODE9] code after a task's await belongs to its object, whatever it awaits; other code to none", async () => {
    class Waiter extends DurableObject {
      async wait(): Promise<number> {
        await crypto.subtle.digest('SHA-256', new Uint8Array(1)); // a promise of the engine's own
        const begun = Date.now();
        await new Promise((resolve) => setTimeout(resolve, 60_000));
        return Date.now() - begun;
      }
      touch(): number {
        return 1;
      }
    }
    const { clock, env, close } = await createObjects({ Waiter });
    await clock.set(0);
    const waiting = env.Waiter.getByName('a').wait();
    for (let i = 0; i < 20; i++) {
      await env.Waiter.getByName('b').touch();
      const begunMs = Date.now();
      expect(begunMs).toBeGreaterThan(1e12);
      // A timer of the objects' clock, which stands still, would never fire.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await clock.advance(60_000);
    expect(await waiting).toBe(60_000);
    await close();
  });
});

describe.each([
  ['Node', () => createObjects({ Echo })],
  ['this process', () => createInProcess({ Echo }, { wasm })],
])('values in %s', (_, create) => {
  test('[VAL10] a Buffer is stored, passed and sent without the memory that it shares', async () => {
    const objects = await create();
    const echo = objects.env.Echo.getByName('a');
    expect(Buffer.from('hi').buffer.byteLength).toBeGreaterThan(2);
    expect(await echo.store([Buffer.from('hi'), Buffer.from('ho')])).toEqual([2, 2, 2, 2]);
    const answer = await echo.answer(Buffer.from('hi'));
    expect([answer.given, answer.got.length, answer.got.buffer.byteLength]).toEqual([2, 2, 2]);
    await objects.close();
  });

  test('[VAL10] a Buffer in an error leaves behind the memory that it shares', async () => {
    const objects = await create();
    const echo = objects.env.Echo.getByName('a');
    /** The whole memory of the bytes, as text. */
    const memoryOf = (view: unknown) => isView(view) && Buffer.from(view.buffer).toString();
    const failed = await echo.fail().catch((error: unknown) => error as AggregateError);
    const { cause, own, errors } = failed as AggregateError & { own: unknown };
    expect([cause, own, errors[0]].map(memoryOf)).toEqual(['hi', 'hi', 'hi']);
    expect(memoryOf(await echo.throwBytes().catch((error: unknown) => error))).toBe('hi');
    await objects.close();
  });

  test('[VAL3] an object of the platform is refused by put, as an argument and as a result', async () => {
    const objects = await create();
    const echo = objects.env.Echo.getByName('a');
    const refused = { name: 'DataCloneError' };
    await expect(echo.store([new URL('http://x/')])).rejects.toMatchObject(refused);
    await expect(echo.storeEvent()).rejects.toMatchObject(refused);
    await expect(echo.answerParams()).rejects.toMatchObject(refused);
    await objects.close();
  });
});

const wasm = new Uint8Array(
  readFileSync(new URL('../../engine/vfs/sqlite3.wasm', import.meta.url)),
);

class Echo extends DurableObject {
  /** Stores the values by one put, then as blobs of rows, and returns the memory that each of them occupies. */
  async store(values: readonly unknown[]): Promise<number[]> {
    const { storage } = this.ctx;
    // The Buffer is made here, because an argument of a call has been copied already.
    const pairs = values.map((value, i) => [`k${i}`, isView(value) ? Buffer.from(value) : value]);
    await storage.put(Object.fromEntries(pairs) as Record<string, unknown>);
    const stored = [...(await storage.list<Uint8Array>()).values()].map(sizeOfMemory);
    storage.sql.exec('CREATE TABLE t (a BLOB)');
    for (const [, value] of pairs) storage.sql.exec('INSERT INTO t VALUES (?)', value as Buffer);
    const rows = storage.sql.exec<{ size: number }>('SELECT length(a) AS size FROM t').toArray();
    return [...stored, ...rows.map(({ size }) => size)];
  }

  answer(bytes: Uint8Array) {
    return { given: bytes.buffer.byteLength, got: Buffer.from('ho') };
  }

  async fail(): Promise<void> {
    throw failure();
  }

  async throwBytes(): Promise<void> {
    throw Buffer.from('hi');
  }

  storeEvent(): Promise<void> {
    return this.ctx.storage.put('event', new Event('x'));
  }

  answerParams(): unknown {
    return new URLSearchParams('a=1');
  }
}

function failure(): Error {
  const error = new AggregateError([Buffer.from('hi')], 'no', { cause: Buffer.from('hi') });
  return Object.assign(error, { own: Buffer.from('hi') });
}

function isView(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array;
}

function sizeOfMemory({ buffer }: Uint8Array): number {
  return buffer.byteLength;
}
