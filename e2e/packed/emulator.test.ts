// The emulator's packed package beside the other, as npm installs both, without a registry.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EMULATOR, manifestOf } from '../package/entry-modules.ts';
import { npmInstall, packedEmulator, packedFile } from '../package/installed.ts';

const { name, version } = manifestOf(EMULATOR);
const DAY = '2024-02-03';

test('[PKG25] [PKG26] both packages install side by side, and both programs run', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-storage-emulator-'));
  try {
    writeFileSync(join(directory, 'package.json'), '{ "private": true, "type": "module" }');
    // No registry has this version of ctx-storage: the emulator's dependency is the package beside it.
    npmInstall(directory, '--offline', await packedFile(), await packedEmulator());
    expect(
      readdirSync(join(directory, 'node_modules')).filter((each) => !each.startsWith('.')),
    ).toEqual([name, 'ctx-storage'].sort());
    const program = (command: string) => join(directory, 'node_modules/.bin', command);
    const run = (command: string, ...args: string[]) =>
      spawnSync(program(command), args, { cwd: directory, encoding: 'utf8' });

    expect(run('ctx-storage', '--version').stdout).toBe(`${version}\n`);
    expect(run(name, '--version').stdout).toBe(`${version}\n`);
    expect(run(name, 'list', '--at', DAY).stdout).toContain('2024');
    expect(run('ctx-storage', 'management', '--at', DAY)).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(`^[^\\n]*; run: npx ${name} serve --at ${DAY}\\n$`),
    });

    // The state of one server is there for the next.
    const zones = async (method: 'GET' | 'POST') => {
      const server = spawn(
        program(name),
        ['serve', '--port', '0', '--at', DAY, '--directory', 'kept'],
        {
          cwd: directory,
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
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

    // The library alone, in a program of its own.
    writeFileSync(
      join(directory, 'own.mjs'),
      `import { createManagementApi, ManagementObject } from '${name}';
      import { createObjects } from 'ctx-storage/node';
      const objects = await createObjects({ ManagementObject });
      const api = createManagementApi({ namespace: objects.env.ManagementObject });
      const { status } = await api.fetch(new Request('https://api.example/client/v4/zones'));
      console.log(status);
      await objects.close();`,
    );
    const own = execFileSync(process.execPath, ['own.mjs'], { cwd: directory, encoding: 'utf8' });
    expect(own).toBe('200\n');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
