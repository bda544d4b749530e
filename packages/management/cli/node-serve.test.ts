// Tests the subcommand `serve`: its server, the options that it refuses, and that nothing stays open.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import type { ProgramEnvironment } from '../../command-line/subcommand.ts';
import { ManagementObject } from '../objects/management-object.ts';
import { serveCommand } from './node-serve.ts';

let opened = 0;

async function openObjects() {
  const objects = await createObjects({ ManagementObject });
  opened += 1;
  return {
    namespace: objects.env.ManagementObject,
    close: async () => {
      await objects.close();
      opened -= 1;
    },
  };
}

function printingTo(lines: string[]): ProgramEnvironment {
  const unused = () => Promise.reject(new Error('No file is touched.'));
  return {
    print: (text) => void lines.push(text),
    readFile: unused,
    writeFile: unused,
    now: () => 0,
  };
}

/** Returns the status of a request with these headers. `fetch` would not send the header Host. */
function statusWith(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
  });
}

test('[MG41] the command serves the provider on a day, says where, and ends when stopped', async () => {
  const lines: string[] = [];
  const id = 'c'.repeat(32);
  let tunnels = '';
  let status = 0;
  const command = serveCommand({
    openObjects,
    stopped: async () => {
      const [baseUrl] = /http:\S+(?=,)/.exec(lines[0]!)!;
      tunnels = `${baseUrl}/accounts/${id}/tunnels`;
      status = (await fetch(tunnels)).status;
    },
  });
  const args = ['--port', '0', '--at', '2024-02-03', '--account', `${id}=Mine`];
  expect(await command.run(args, printingTo(lines))).toBe(0);
  expect(status).toBe(200);
  expect(lines[0]).toMatch(/^Management interface at http:.*, on 2024-02-03\.\n$/);
  expect(lines[1]).toBe(`Account ${id}: Mine\n`);
  await expect(fetch(tunnels)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  expect(opened).toBe(0);
});

test.each([
  [['--port', 'x'], '--port is "x"'],
  [['--port', '65536'], '--port is "65536"'],
  [['--at', 'soon'], '--at is "soon"'],
  [['--account', 'x'], '--account is "x"'],
  [['--allowed-host', 'a b'], 'a host without a port'],
  [['--cors', '*'], 'must be an origin'],
  [['--nothing'], "'--nothing'"],
])('[MG41] %j is refused by name and nothing stays open', async (args, message) => {
  const stopped = () => Promise.reject(new Error('It never started.'));
  const command = serveCommand({ openObjects, stopped });
  await expect(command.run(args, printingTo([]))).rejects.toThrow(message);
  expect(opened).toBe(0);
});

test('[MG41] the hosts and origins that are named may call', async () => {
  const lines: string[] = [];
  const seen: Record<string, number | undefined> = {};
  const command = serveCommand({
    openObjects,
    stopped: async () => {
      const [baseUrl] = /http:\S+(?=,)/.exec(lines[0]!)!;
      const zones = `${baseUrl}/zones`;
      for (const host of ['x.test', 'y.test', 'z.test']) {
        seen[host] = await statusWith(zones, { host });
      }
      for (const origin of ['http://a.example', 'http://b.example', 'http://c.example']) {
        seen[origin] = await statusWith(zones, { origin });
      }
    },
  });
  const hosts = ['--allowed-host', 'x.test', '--allowed-host', 'y.test'];
  const origins = ['--cors', 'http://a.example', '--cors', 'http://b.example'];
  await command.run(['--port', '0', ...hosts, ...origins], printingTo(lines));
  expect(seen).toEqual({
    'x.test': 200,
    'y.test': 200,
    'z.test': 403,
    'http://a.example': 200,
    'http://b.example': 200,
    'http://c.example': 403,
  });
});

test('[MG41] a directory that is a file is refused by name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-cli-'));
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const command = serveCommand({
    openObjects: async (directory) => {
      const objects = await createObjects({ ManagementObject }, { directory: directory! });
      return { namespace: objects.env.ManagementObject, close: () => objects.close() };
    },
    stopped: () => Promise.reject(new Error('It never started.')),
  });
  for (const directory of [file, join(file, 'below')]) {
    await expect(command.run(['--directory', directory], printingTo([]))).rejects.toMatchObject({
      name: 'UsageError',
      message: expect.stringMatching(/^--directory is ".*file.*"; it must be a folder\b/),
    });
  }
  rmSync(folder, { recursive: true });
});

test('[MG41] a port that is taken is refused by name, and opened servers are closed', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', () => resolve()));
  const { port } = other.address() as AddressInfo;
  const command = serveCommand({ openObjects, stopped: () => Promise.resolve() });
  const refused = command.run(['--port', String(port)], printingTo([]));
  await expect(refused).rejects.toMatchObject({
    name: 'UsageError',
    message: expect.stringMatching(/^cannot listen: .*EADDRINUSE.*; give another --port/),
  });
  expect(opened).toBe(0);
  await new Promise((resolve) => other.close(resolve));
});
