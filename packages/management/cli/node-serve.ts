// The subcommand `serve` runs the emulated provider as an HTTP server until it is stopped.

import { parseArgs } from 'node:util';
import { EMULATOR } from '@ctx-storage/command-line/emulator';
import { type Subcommand, UsageError } from '@ctx-storage/command-line/subcommand';
import type { OpenObjects } from '../adapters/node-objects.ts';
import { serveManagement } from '../adapters/node-server.ts';
import { dayOf } from '../schedule/day.ts';

const USAGE = `Usage: ${EMULATOR} serve [options]

Runs the emulated provider as an HTTP server until it is stopped.

  --port <number>       port to listen on; 0 takes any free one (default: 8787)
  --host <name>         address to listen on (default: 127.0.0.1)
  --at <date>           the day the provider's clock starts on, YYYY-MM-DD (default: today);
                        with it, the header api-version does not count
  --allowed-host <name> another host the server answers to, without port; repeatable
                        (default: --host, localhost, 127.0.0.0/8 and [::1] alone)
  --cors <origin>       an origin whose pages may call, as in http://localhost:5173; repeatable
  --directory <folder>  where the state is kept (default: memory)
  --account <id=name>   an account that is there from the beginning; repeatable
                        (default: one, whose id is printed)
`;

const FIRST_ACCOUNT = `${'0'.repeat(31)}1=First account`;

/** The functions that the program passes to the subcommand `serve`. */
export interface ServeSetup {
  readonly openObjects: OpenObjects;
  /** Resolves when the server should stop. */
  readonly stopped: () => Promise<void>;
}

export function serveCommand({ openObjects, stopped }: ServeSetup): Subcommand {
  return {
    summary: 'run an emulated provider as an HTTP server, on any date',
    usage: USAGE,
    async run(args, { print }) {
      const { directory, ...options } = optionsOf(args);
      const objects = await openObjects(directory).catch((error) =>
        rethrowFolderError(error, directory),
      );
      try {
        const server = await serveManagement({ ...options, namespace: objects.namespace }).catch(
          rethrowListenError,
        );
        const { at, accounts } = options;
        print(`Management interface at ${server.baseUrl}, ${at ? `on ${at}` : 'today'}.\n`);
        for (const { id, name } of accounts) print(`Account ${id}: ${name}\n`);
        await stopped();
        await server.close();
      } finally {
        await objects.close();
      }
      return 0;
    },
  };
}

/** Reports an unusable folder as the user's mistake, and throws any other error. */
function rethrowFolderError(error: NodeJS.ErrnoException, directory: string | undefined): never {
  const isFolderError = error.code === 'PATH_CONFLICT' || error.code === 'NOT_WRITABLE';
  if (directory === undefined || !isFolderError) throw error;
  const fact = `--directory is "${directory}"; it must be a folder with write permission`;
  throw new UsageError(`${fact}: ${error.message}`);
}

/** Reports a port in use, or an address of another machine, as the user's mistake, and throws any other error. */
function rethrowListenError(error: NodeJS.ErrnoException): never {
  if (error.syscall !== 'listen' && error.syscall !== 'getaddrinfo') throw error;
  throw new UsageError(`cannot listen: ${error.message}; give another --port or --host.`);
}

function optionsOf(args: readonly string[]) {
  const {
    port,
    host,
    at,
    directory,
    account,
    cors,
    'allowed-host': allowedHosts,
  } = parseArguments(args);
  if (at !== undefined && dayOf(at) === undefined) {
    throw new UsageError(`--at is "${at}"; it must be a date, YYYY-MM-DD.`);
  }
  return {
    port: portOf(port),
    host,
    allowedHosts,
    cors,
    accounts: account.map(accountOf),
    directory,
    ...(at !== undefined && { at }),
  };
}

function parseArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        port: { type: 'string', default: '8787' },
        host: { type: 'string', default: '127.0.0.1' },
        at: { type: 'string' },
        'allowed-host': { type: 'string', multiple: true, default: [] },
        cors: { type: 'string', multiple: true, default: [] },
        directory: { type: 'string' },
        account: { type: 'string', multiple: true, default: [FIRST_ACCOUNT] },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`--port is "${text}"; it must be from 0 to 65535.`);
}

function accountOf(text: string): { readonly id: string; readonly name: string } {
  const [, id, name] = /^([0-9a-f]{32})=(.+)$/.exec(text) ?? [];
  if (id !== undefined && name !== undefined) return { id, name };
  throw new UsageError(
    `--account is "${text}"; it must be 32 hexadecimal digits, "=", and a name.`,
  );
}
