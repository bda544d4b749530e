// The two engines that run the same programs: ours, in this process over files in memory, and real
// workerd, started once.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Log, LogLevel, Miniflare } from 'miniflare';
import { createTestHost } from '../../../packages/testing/worker/test-host.ts';
import { canonicalize } from '../conformance/corpus/canonical.mjs';
import { runProgram } from './interpreter.mjs';
import type { Step } from './step.ts';
import { untoldStatement } from './told-tables.ts';

export interface Engine {
  /** Runs the steps on a new object, and returns one result per step. */
  run(steps: readonly Step[]): Promise<unknown[]>;
  close(): Promise<void>;
}

export async function startHere(): Promise<Engine> {
  const host = await createTestHost();
  let count = 0;
  return {
    async run(steps) {
      const name = `program ${count++}`;
      const results = await outcome(() =>
        host.run((ctx) => runProgram(ctx, steps, canonicalize), name),
      );
      await host.host.erase(host.address(name));
      const untold = await untoldStatement(steps);
      return untold === undefined ? results : [{ untold }];
    },
    close: () => host.close(),
  };
}

// Before 2026-02-24, so that deleteAll keeps the alarm, as the written interface says.
const COMPATIBILITY_DATE = '2026-01-30';

export async function startWorkerd(): Promise<Engine> {
  const folder = import.meta.dirname;
  const main = `
    import { DurableObject } from 'cloudflare:workers';
    import { canonicalize } from './canonical.mjs';
    import { runProgram } from './interpreter.mjs';
    export class Fuzz extends DurableObject {
      run(steps) { return runProgram(this.ctx, steps, canonicalize); }
      alarm() {} // setAlarm wants one; the times are far away
    }
    export default {
      async fetch(request, env) {
        const { name, steps } = await request.json();
        try {
          return Response.json(await env.FUZZ.getByName(name).run(steps));
        } catch (error) {
          return Response.json([{ reset: error.name }]);
        }
      },
    };`;
  const file = (name: string, path: string) => ({
    type: 'ESModule' as const,
    path: name,
    contents: readFileSync(join(folder, path), 'utf8'),
  });
  const workerd = new Miniflare({
    compatibilityDate: COMPATIBILITY_DATE,
    compatibilityFlags: ['enhanced_error_serialization'],
    log: new Log(LogLevel.NONE),
    handleRuntimeStdio(stdout: Readable, stderr: Readable) {
      stdout.resume();
      stderr.resume();
    },
    modules: [
      { type: 'ESModule', path: 'main.mjs', contents: main },
      file('canonical.mjs', '../conformance/corpus/canonical.mjs'),
      file('interpreter.mjs', 'interpreter.mjs'),
    ],
    modulesRoot: '/',
    durableObjects: { FUZZ: { className: 'Fuzz', useSQLite: true } },
  });
  await workerd.ready;
  let count = 0;
  return {
    async run(steps) {
      const body = JSON.stringify({ name: `program ${count++}`, steps });
      const response = await workerd.dispatchFetch('http://fuzz/', { method: 'POST', body });
      return (await response.json()) as unknown[];
    },
    close: () => workerd.dispose(),
  };
}

// A reset is a result as well; results cross as JSON, as workerd's do.
async function outcome(run: () => Promise<unknown[]>): Promise<unknown[]> {
  try {
    return JSON.parse(JSON.stringify(await run()));
  } catch (error) {
    return [{ reset: (error as Error).name }];
  }
}
