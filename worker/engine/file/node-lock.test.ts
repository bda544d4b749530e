import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { listenIn } from './node-life-socket.ts';
import { lockFolder } from './node-lock.ts';
import { isOfOneKernel, originOf, startOf } from './node-process.ts';

const PROCESSES = 20;
const ROUNDS = 12;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ctx-storage-lock-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const lockOf = (holder: object) => {
  writeFileSync(join(directory, 'host.lock'), JSON.stringify(holder));
};

/** The id of a process that has ended. */
async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  return child.pid!;
}

describe('the lock of a folder', () => {
  test('[NODE3] has one holder, and only the holder releases it', async () => {
    const release = await lockFolder(directory);
    await expect(lockFolder(directory)).rejects.toMatchObject({ code: 'STORAGE_LOCKED' });
    const held = readdirSync(directory);
    expect(held).toContain('host.lock');
    release();
    const again = await lockFolder(directory);
    release();
    expect(readdirSync(directory)).toHaveLength(held.length);
    again();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('[NODE13] the lock of a dead holder is taken over: complete, torn, or left during a takeover', async () => {
    const pid = await deadProcess();
    const dead = { pid, machine: hostname(), start: null, token: 'dead' };
    lockOf(dead);
    writeFileSync(join(directory, 'host.lock.dead'), JSON.stringify({ ...dead, token: 'second' }));
    (await lockFolder(directory))();
    expect(readdirSync(directory)).toEqual([]);
    for (const torn of ['', '{"pid":', JSON.stringify({ pid, machine: hostname() })]) {
      writeFileSync(join(directory, 'host.lock'), torn);
      (await lockFolder(directory))();
      expect(readdirSync(directory)).toEqual([]);
    }
  });

  test('[NODE13] a process that reuses the id of a dead holder does not hold the folder', async () => {
    const holder = { pid: process.pid, machine: hostname(), token: 'x' };
    lockOf({ ...holder, start: startOf(process.pid) });
    await expect(lockFolder(directory)).rejects.toMatchObject({ code: 'STORAGE_LOCKED' });
    // If the system does not tell the start, the id alone decides.
    if (startOf(process.pid) === null) return;
    lockOf({ ...holder, start: 'of another process' });
    (await lockFolder(directory))();
  });

  test('[NODE3] a holder on another machine cannot be checked, and keeps the folder', async () => {
    lockOf({ pid: 1, machine: 'elsewhere.invalid', start: null, token: 'x' });
    await expect(lockFolder(directory)).rejects.toThrowError('elsewhere.invalid');
  });
});

/** A lock of a holder that only its socket can be asked about, because its id counts elsewhere. */
const ofOtherNamespace = (socket: string | null) => {
  const { boot } = originOf();
  const namespaces = 'pid:[1] time:[1]';
  lockOf({ pid: 1, machine: 'other', start: '1', boot, namespaces, socket, token: 'other' });
};

describe.runIf(originOf().boot !== null)('a holder in another PID namespace', () => {
  test('[NODE24] keeps the folder while it lives: the kernel is asked, not its process id', async () => {
    const silence = await listenIn(directory, 'host.other.socket');
    ofOtherNamespace('host.other.socket');
    await expect(lockFolder(directory)).rejects.toMatchObject({ code: 'STORAGE_LOCKED' });
    silence!();
    (await lockFolder(directory))();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('[NODE24] is dead once its process was killed, and leaves nothing behind', async () => {
    const holder = spawn(process.execPath, ['-e', LISTEN], { cwd: directory });
    await once(holder.stdout, 'data');
    ofOtherNamespace('host.other.socket');
    await expect(lockFolder(directory)).rejects.toMatchObject({ code: 'STORAGE_LOCKED' });
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(readdirSync(directory)).toContain('host.other.socket');
    (await lockFolder(directory))();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('[NODE24] counts as alive if it cannot be asked, and the error names the way out', async () => {
    ofOtherNamespace(null);
    await expect(lockFolder(directory)).rejects.toThrowError(
      /process 1 on other.*remove host.lock by hand/,
    );
  });

  test('[NODE24] is dead if its kernel is, on a disk that no other machine has', async () => {
    const { namespaces } = originOf();
    const holder = { pid: process.pid, machine: hostname(), start: null, socket: null, token: 'x' };
    lockOf({ ...holder, boot: 'before the power failed', namespaces });
    (await lockFolder(directory))();
    expect([isOfOneKernel(directory), isOfOneKernel('/proc')]).toEqual([true, false]);
  });

  test('[NODE24] folders with long paths have a socket too', async () => {
    const deep = join(directory, 'x'.repeat(120));
    mkdirSync(deep);
    const release = await lockFolder(deep);
    expect(readdirSync(deep).filter((name) => name.endsWith('.socket'))).toHaveLength(1);
    release();
    expect(readdirSync(deep)).toEqual([]);
  });
});

const LISTEN = `require('net').createServer().listen('host.other.socket', () => console.log('listens'));`;

describe('processes that race', () => {
  let racers: ChildProcess[];
  let program: string;
  beforeAll(async () => {
    program = mkdtempSync(join(tmpdir(), 'ctx-storage-race-'));
    const bundled = await build({
      stdin: {
        contents: `
          import { lockFolder } from './node-lock.ts';
          let release;
          process.on('message', async ({ directory, startMs }) => {
            if (directory === null) {
              release?.();
              release = undefined;
              return process.send('released');
            }
            while (Date.now() < startMs);
            try {
              release = await lockFolder(directory);
              process.send('won');
            } catch (error) {
              process.send(error.code);
            }
          });
          process.send('ready');`,
        resolveDir: import.meta.dirname,
      },
      bundle: true,
      platform: 'node',
      format: 'esm',
      write: false,
    });
    const file = join(program, 'racer.mjs');
    writeFileSync(file, bundled.outputFiles[0]!.contents);
    racers = Array.from({ length: PROCESSES }, () => fork(file));
    await Promise.all(racers.map((racer) => once(racer, 'message')));
  });
  afterAll(async () => {
    const ends = racers.map((racer) => once(racer, 'exit'));
    for (const racer of racers) racer.kill();
    await Promise.all(ends);
    rmSync(program, { recursive: true });
  });

  const all = async (message: object): Promise<string[]> => {
    const answers = racers.map((racer) => once(racer, 'message'));
    for (const racer of racers) racer.send(message);
    return (await Promise.all(answers)).map(([answer]) => answer as string);
  };

  test('[NODE13] of several processes that see the same stale lock, exactly one takes it', {
    tags: 'long',
  }, async () => {
    const pid = await deadProcess();
    for (let round = 0; round < ROUNDS; round++) {
      lockOf({ pid, machine: hostname(), start: null, token: `stale-${round}` });
      const answers = await all({ directory, startMs: Date.now() + 100 });
      const winners = answers.filter((answer) => answer === 'won');
      expect([winners.length, new Set(answers)]).toEqual([1, new Set(['won', 'STORAGE_LOCKED'])]);
      const holder = JSON.parse(readFileSync(join(directory, 'host.lock'), 'utf8'));
      expect(racers[answers.indexOf('won')]!.pid).toBe(holder.pid);
      await all({ directory: null });
      expect(readdirSync(directory)).toEqual([]);
    }
  });
});
