#!/usr/bin/env node
// The program `ctx-storage` and its subcommands, which load other parts of the package only when they run.
//
// Only the subcommands that read or run objects load SQLite.

import { fileURLToPath } from 'node:url';
import { runProgram, untilStopped } from '@ctx-storage/command-line/node-program';
import { MOVED } from './moved.ts';
import { devCommand } from './node-dev.ts';
import { initCommand } from './node-init.ts';
import { logCommand } from './node-log.ts';
import { VERSION } from './version.ts';

const dev = devCommand({
  async serve(options) {
    process.setSourceMapsEnabled(true);
    // An error that nobody handles affects only the request that caused it; other requests continue, as on workerd.
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
  stopped: untilStopped,
});

const log = logCommand({
  async read(folder, nowMs) {
    const { readLog } = await import('@ctx-storage/worker/node-log-files');
    return readLog(folder, nowMs);
  },
});

// In the built program, this module is `dist/cli.js`, so `..` is the folder of the package.
const init = initCommand(fileURLToPath(new URL('..', import.meta.url)));

await runProgram({
  name: 'ctx-storage',
  version: VERSION,
  subcommands: { dev, init, log },
  moved: MOVED,
});
