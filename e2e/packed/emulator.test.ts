// The packed file of the emulator, installed in one folder with the packed file of `ctx-storage`. In
// e2e/specs/harness.spec.ts npm installs both.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EMULATOR, manifestOf } from '../package/entry-modules.ts';
import { installEmulator, installPacked } from '../package/installed.ts';

const { name } = manifestOf(EMULATOR);
const DAY = '2024-02-03';

test('[PKG25] [PKG26] the programs of both packages run side by side, and the emulator keeps its state by ctx-storage', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-storage-emulator-'));
  try {
    await installPacked(directory);
    await installEmulator(directory);
    const program = (command: string) => join(directory, 'node_modules', command, 'dist/cli.js');
    const run = (command: string, ...args: string[]) =>
      spawnSync(process.execPath, [program(command), ...args], {
        cwd: directory,
        encoding: 'utf8',
      });

    expect(run(name, 'list', '--at', DAY).stdout).toContain('2024');
    expect(run('ctx-storage', 'management', '--at', DAY)).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(`^[^\\n]*; run: npx ${name} serve --at ${DAY}\\n$`),
    });

    // The state of one server is there for the next.
    const zones = async (method: 'GET' | 'POST') => {
      const args = [program(name), 'serve', '--port', '0', '--at', DAY, '--directory', 'kept'];
      const server = spawn(process.execPath, args, {
        cwd: directory,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(server, 'exit');
      const [line] = (await once(server.stdout, 'data')) as [Buffer];
      const [baseUrl] = /http:\S+(?=,)/.exec(String(line))!;
      const made = { name: 'a.example', account: { id: `${'0'.repeat(31)}1` } };
      const response = await fetch(`${baseUrl}/zones`, {
        method,
        ...(method === 'POST' && {
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(made),
        }),
      });
      const { result } = (await response.json()) as { result: unknown };
      server.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
      return result;
    };
    expect(await zones('POST')).toMatchObject({ name: 'a.example' });
    expect(await zones('GET')).toMatchObject([{ name: 'a.example' }]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
