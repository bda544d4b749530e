// The subcommand `ctx-storage dev` runs a project's worker on this machine until it is stopped.

import { parseArgs } from 'node:util';
import { type Subcommand, UsageError } from '@ctx-storage/command-line/subcommand';
import type { DevOptions } from '@ctx-storage/workers/dev';

const USAGE = `Usage: ctx-storage dev [options]

Runs the worker of a wrangler file in Node, without workerd, and starts it again after each change of its code.

  --config <file>    the wrangler file (default: wrangler.jsonc, .json or .toml in this folder)
  --env <name>       one of its environments (default: CLOUDFLARE_ENV)
  --port <number>    port to listen on; 0 takes any free one (default: dev.port of the file, or 8787)
  --host <name>      address to listen on (default: dev.ip of the file, or 127.0.0.1)
  --persist <folder> where the data are kept (default: .ctx-storage)
  --bindings <file>  a module whose default export has members of env that do not exist here, such as AI
`;

/** The functions that the program passes to the subcommand `dev`. */
export interface DevSetup {
  readonly serve: (
    options: DevOptions,
  ) => Promise<{ readonly address: string; close(): Promise<void> }>;
  /** Resolves when the server should stop. */
  readonly stopped: () => Promise<void>;
}

export function devCommand({ serve, stopped }: DevSetup): Subcommand {
  return {
    summary: "run a project's worker in Node, by its wrangler file",
    usage: USAGE,
    async run(args, { print }) {
      const server = await serve({ ...optionsOf(args), print }).catch((error: Error) => {
        throw new UsageError(`dev: ${error.message}`);
      });
      print(`Listening at ${server.address}\n`);
      await stopped();
      await server.close();
      return 0;
    },
  };
}

function optionsOf(args: readonly string[]): Omit<DevOptions, 'print'> {
  const { port, env, ...options } = parseArguments(args);
  if (port !== undefined && (!/^\d+$/.test(port) || Number(port) > 65_535)) {
    throw new UsageError(`--port is "${port}"; it must be from 0 to 65535.`);
  }
  return { ...options, port: port === undefined ? undefined : Number(port), environment: env };
}

function parseArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        config: { type: 'string' },
        env: { type: 'string' },
        port: { type: 'string' },
        host: { type: 'string' },
        persist: { type: 'string', default: '.ctx-storage' },
        bindings: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
