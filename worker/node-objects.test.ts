import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DurableObjectNamespace } from '../src/contract/object.ts';
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
  test('[NODE1] classes run in this process, on memory', async () => {
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

  test('[NODE2] objects of a folder outlive the host', async () => {
    const first = await createObjects({ Counter }, { directory });
    await first.env.Counter.getByName('a').add(3);
    await first.close();
    const second = await createObjects({ Counter }, { directory });
    expect(await second.env.Counter.getByName('a').add()).toBe(4);
    await second.close();
  });

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

  test('[NODE4] neither idle objects nor alarms keep the process alive', async () => {
    const program = join(directory, 'program.mts');
    const entry = new URL('./node-objects.ts', import.meta.url).pathname;
    writeFileSync(
      program,
      `import { createObjects, DurableObject } from ${JSON.stringify(entry)};
       class Clock extends DurableObject {
         async begin() { await this.ctx.storage.setAlarm(Date.now() + 3_600_000); return 'set'; }
         alarm() {}
       }
       const { env } = await createObjects({ Clock });
       console.log(await env.Clock.getByName('a').begin());`,
    );
    const { stdout } = await promisify(execFile)('npx', ['tsx', program], { timeout: 20_000 });
    expect(stdout.trim()).toBe('set');
  });
});
