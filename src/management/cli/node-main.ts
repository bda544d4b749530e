#!/usr/bin/env node
// The program `ctx-storage`: connects its subcommands to Node's files, clock and signals.
//
// Only the subcommand that runs objects loads SQLite.

import { readFile, writeFile } from 'node:fs/promises';
import { ManagementObject } from '../management/objects/management-object.ts';
import { runCommandLine } from './command-line.ts';
import { deprecationsCommand } from './node-deprecations.ts';
import { managementCommand } from './node-management.ts';

const management = managementCommand({
  async openObjects(directory) {
    const { createObjects } = await import('../../worker/entries/node-objects.ts');
    const objects = await createObjects(
      { ManagementObject },
      directory === undefined ? {} : { directory },
    );
    return { namespace: objects.env.ManagementObject, close: () => objects.close() };
  },
  stopped: () =>
    new Promise((resolve) => {
      process.once('SIGINT', () => resolve());
      process.once('SIGTERM', () => resolve());
    }),
});

process.exitCode = await runCommandLine(
  process.argv.slice(2),
  { deprecations: deprecationsCommand, management },
  {
    print: (text) => process.stdout.write(text),
    readFile: (path) => readFile(path, 'utf8'),
    writeFile,
    now: () => Date.now(),
  },
  (line) => console.error(line),
);
