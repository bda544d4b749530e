#!/usr/bin/env node
// The program `ctx-storage`: connects its subcommands to Node's files, clock and signals.
//
// Only the subcommand that runs objects loads SQLite.

import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '@ctx-storage/command-line/command-line';
import { deprecationsCommand } from '@ctx-storage/management/deprecations-command';
import { managementCommand } from '@ctx-storage/management/management-command';
import { ManagementObject } from '@ctx-storage/management/object';
import { devCommand } from './node-dev.ts';
import { initCommand } from './node-init.ts';
import { logCommand } from './node-log.ts';

const stopped = () =>
  new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });

const management = managementCommand({
  async openObjects(directory) {
    const { createObjects } = await import('@ctx-storage/worker/node');
    const objects = await createObjects(
      { ManagementObject },
      directory === undefined ? {} : { directory },
    );
    return { namespace: objects.env.ManagementObject, close: () => objects.close() };
  },
  stopped,
});

const dev = devCommand({
  async serve(options) {
    process.setSourceMapsEnabled(true);
    // An error that nobody handles concerns what caused it: other requests go on, as in workerd.
    for (const event of ['uncaughtException', 'unhandledRejection']) {
      process.on(event, (error) => console.error('Uncaught', error));
    }
    const { dev: serveProject } = await import('@ctx-storage/workers/dev');
    return serveProject(options, async () => {
      const { holdGlobals, provideEnv, provideMore, startApp } = await import(
        '@ctx-storage/workers/dev-host'
      );
      const makers = await import('@ctx-storage/workers/bindings');
      return {
        makers,
        addressOf: (specifier) => import.meta.resolve(specifier),
        scripts: fileURLToPath(new URL('.', import.meta.url)),
        holdGlobals,
        provideEnv,
        provideMore,
        start: startApp,
      };
    });
  },
  stopped,
});

const log = logCommand({
  async read(folder, nowMs) {
    const { readLog } = await import('@ctx-storage/worker/node-log-files');
    return readLog(folder, nowMs);
  },
});

// Of the built program, `dist/cli.js`.
const init = initCommand(fileURLToPath(new URL('..', import.meta.url)));

process.exitCode = await runCommandLine(
  process.argv.slice(2),
  { deprecations: deprecationsCommand, dev, init, log, management },
  {
    print: (text) => process.stdout.write(text),
    readFile: (path) => readFile(path, 'utf8'),
    writeFile,
    now: () => Date.now(),
  },
  (line) => console.error(line),
);

// Code of a Worker may have left a port or a timer, which would keep this process. The output is written before.
process.stdout.write('', () => process.stderr.write('', () => process.exit()));
