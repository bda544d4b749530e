#!/usr/bin/env node
// The program `ctx-storage`: its subcommands, with the files and the clock of Node.

import { readFile, writeFile } from 'node:fs/promises';
import { runCommandLine } from './command-line.ts';
import { deprecationsCommand } from './node-deprecations.ts';

process.exitCode = await runCommandLine(
  process.argv.slice(2),
  { deprecations: deprecationsCommand },
  {
    print: (text) => process.stdout.write(text),
    readFile: (path) => readFile(path, 'utf8'),
    writeFile,
    now: () => Date.now(),
  },
  (line) => console.error(line),
);
