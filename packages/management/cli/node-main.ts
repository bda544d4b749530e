#!/usr/bin/env node
// The program of the emulator's package: it serves the provider, and prints its schedule.

import { EMULATOR, EMULATOR_VERSION } from '@ctx-storage/command-line/emulator';
import { runProgram, untilStopped } from '@ctx-storage/command-line/node-program';
import { openObjects } from '../adapters/node-objects.ts';
import { calendarCommand, listCommand, scanCommand } from './node-deprecations.ts';
import { serveCommand } from './node-serve.ts';

await runProgram({
  name: EMULATOR,
  version: EMULATOR_VERSION,
  subcommands: {
    calendar: calendarCommand,
    list: listCommand,
    scan: scanCommand,
    serve: serveCommand({ openObjects, stopped: untilStopped }),
  },
});
