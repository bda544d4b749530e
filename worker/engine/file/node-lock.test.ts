import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { lockFolder } from './node-lock.ts';
import { startOf } from './node-process.ts';

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
  test('[NODE3] has one holder, and only the holder releases it', () => {
    const release = lockFolder(directory);
    expect(() => lockFolder(directory)).toThrowError(
      expect.objectContaining({ code: 'STORAGE_LOCKED' }),
    );
    expect(readdirSync(directory)).toEqual(['host.lock']);
    release();
    const again = lockFolder(directory);
    release();
    expect(readdirSync(directory)).toEqual(['host.lock']);
    again();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('[NODE13] the lock of a dead holder is taken over: complete, torn, or left during a takeover', async () => {
    const pid = await deadProcess();
    const dead = { pid, machine: hostname(), start: null, token: 'dead' };
    lockOf(dead);
    writeFileSync(join(directory, 'host.lock.dead'), JSON.stringify({ ...dead, token: 'second' }));
    lockFolder(directory)();
    expect(readdirSync(directory)).toEqual([]);
    for (const torn of ['', '{"pid":', JSON.stringify({ pid, machine: hostname() })]) {
      writeFileSync(join(directory, 'host.lock'), torn);
      lockFolder(directory)();
      expect(readdirSync(directory)).toEqual([]);
    }
  });

  test('[NODE13] a process that reuses the id of a dead holder does not hold the folder', () => {
    const holder = { pid: process.pid, machine: hostname(), token: 'x' };
    lockOf({ ...holder, start: startOf(process.pid) });
    expect(() => lockFolder(directory)).toThrowError(
      expect.objectContaining({ code: 'STORAGE_LOCKED' }),
    );
    // If the system does not tell the start, the id alone decides.
    if (startOf(process.pid) === null) return;
    lockOf({ ...holder, start: 'of another process' });
    lockFolder(directory)();
  });

  test('[NODE3] a holder on another machine cannot be checked, and keeps the folder', () => {
    lockOf({ pid: 1, machine: 'elsewhere.invalid', start: null, token: 'x' });
    expect(() => lockFolder(directory)).toThrowError('elsewhere.invalid');
  });
});

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
          process.on('message', ({ directory, startMs }) => {
            if (directory === null) {
              release?.();
              release = undefined;
              return process.send('released');
            }
            while (Date.now() < startMs);
            try {
              release = lockFolder(directory);
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
  }, 60_000);
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

  test('[NODE13] of several processes that see the same stale lock, exactly one takes it', async () => {
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
  }, 60_000);
});
