// Runs the world of `ctx-storage/simulate` with a class whose every event writes in several places, while two tabs use
// its storage. At rest, each commit is read at its own moment.

import type { WebSocket } from '../../../src/shared/calls/sockets/web-socket.ts';
import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type {
  DurableObjectNamespace,
  DurableObjectStub,
} from '../../../src/shared/contract/object.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { type LocalStorage, localStorageOf } from '../../../worker/start/entries/local-storage.ts';
import { followAwaits } from '../simulate/activity.ts';
import { installGlobals } from '../simulate/globals.ts';
import { FAULTS, type FaultName, type Step, stepsOf } from '../simulate/plan.ts';
import { SimulatedRun } from '../simulate/run.ts';
import { type HostOptions, SimulatedHost } from '../simulate/simulated-host.ts';
import type { AnyTools, Check } from '../simulate/tools.ts';
import { KEYS_PER_TAB_WRITE, LedgerCheck, ROWS_PER_TAB_WRITE } from './ledger-check.ts';
import { Ledger } from './ledger-class.ts';
import type { WatchedSqlite } from './watched-sqlite.ts';

const NAMES = ['a', 'b'];
const TABS = 2;
const STEPS = 20;
const REST_MS = 60_000;
const INSERT = 'INSERT INTO page VALUES(?, ?)';

/** All faults except failing requests and deployments, because the class makes no requests and has one version. */
const FAULTS_OF_LEDGERS = new Map(
  (Object.entries(FAULTS) as [FaultName, number][]).filter(
    ([name]) => name !== 'fetchFails' && name !== 'deploy',
  ),
);

export type ClassStep = Step;

export function classStepsOf(seed: number): ClassStep[] {
  return stepsOf(seed, { steps: STEPS, faults: FAULTS_OF_LEDGERS });
}

type Calls = {
  [Method in 'add' | 'plus' | 'addThree' | 'addInTransaction']: () => Promise<unknown>;
} & {
  fetch(request: Request): Promise<Response>;
};

export class ClassSimulation {
  readonly #sqlite: WatchedSqlite;
  readonly #seed: number;
  readonly #steps: readonly ClassStep[];
  readonly #check = new LedgerCheck();
  /** The tabs of the running host; each has a connection of its own. */
  #tabs: LocalStorage[] = [];
  #host!: SimulatedHost;

  constructor(sqlite: WatchedSqlite, seed: number, steps: readonly ClassStep[]) {
    this.#sqlite = sqlite;
    this.#seed = seed;
    this.#steps = steps;
  }

  /** Runs the whole simulation, and returns its counts. @throws the failure of the run */
  async run(): Promise<Record<string, number>> {
    const undo = [installGlobals(), followAwaits()];
    const { sqlite } = this.#sqlite;
    sqlite.exports.sqlite3_randomness(0, 0); // SQLite's random numbers come from the seed, too
    const options = {
      sqlite,
      versions: [{ Ledger: Ledger as never }],
      env: {},
      setup: undefined,
      calls: (tools: AnyTools) => this.#calls(tools),
      invariants: [(() => this.#checkEach()) as Check],
      fetch: undefined,
      retries: 1,
      concurrency: 5,
      restMs: REST_MS,
      showsConsole: false,
      startHost: (host: HostOptions) => this.#start(host),
      outsideMs: 1000,
    };
    try {
      const outcome = await new SimulatedRun(options, this.#seed, this.#steps).run();
      if (outcome.failure !== undefined) throw outcome.failure.error;
      const [violation] = this.#sqlite.takeViolations();
      if (violation !== undefined) throw new Error(violation);
      return { calls: outcome.calls.made.length, commits: this.#check.count };
    } finally {
      for (const end of undo) end();
    }
  }

  async #start(options: HostOptions): Promise<SimulatedHost> {
    const lost = storageError('CONNECTION_CLOSED', 'The simulation has ended the host.');
    for (const tab of this.#tabs) tab.close(lost);
    const host = await SimulatedHost.start(options);
    const { time } = options.world;
    this.#tabs = Array.from({ length: TABS }, () => localStorageOf(host.running.host, time));
    this.#host = host;
    return host;
  }

  #stub(name: string): DurableObjectStub {
    return (this.#host.env.Ledger as DurableObjectNamespace).getByName(name);
  }

  async #checkEach(): Promise<void> {
    for (const name of NAMES) {
      const handle = await this.#tabs[0]!.open(this.#stub(name));
      await this.#check.check(name, handle);
    }
  }

  #calls({ env, pick, int, unique }: AnyTools) {
    const ledger = () => env.Ledger!.getByName(pick(NAMES)) as unknown as Calls;
    const request = (headers = {}) => new Request('https://ledger/', { headers });
    const page = (operation: (handle: StorageHandle) => Promise<unknown>) => () =>
      this.#page(pick(NAMES), int(0, TABS - 1), operation);
    /** Performs an operation of the author `who`, sometimes with a label. */
    const written = (
      write: (view: StorageHandle, id: string, who: string) => Promise<unknown>,
    ): (() => Promise<void>) => {
      const [id, label] = [unique(), pick(['', '', 'one', 'two'])];
      return page((handle) => {
        const who = ['storage', handle.connection, label].filter(Boolean).join(' ');
        if (label === '') return write(handle, id, who);
        return handle.labelled(label, (view) => write(view, id, who));
      });
    };
    const rowsOf = (id: string, who: string) =>
      Array.from({ length: ROWS_PER_TAB_WRITE }, () => [id, who] as const);
    return [
      { weight: 6, call: () => ledger().add() },
      { weight: 3, call: () => ledger().plus() },
      {
        weight: 6,
        call: () => {
          const own = ledger();
          return Promise.all([own.add(), own.plus(), own.fetch(request()), own.add()]);
        },
      },
      { weight: 2, call: () => ledger().addThree() },
      { weight: 2, call: () => ledger().addInTransaction() },
      { weight: 2, call: () => ledger().fetch(request()) },
      {
        weight: 2,
        call: async () => {
          const response = await ledger().fetch(request({ upgrade: 'websocket' }));
          const { webSocket } = response as unknown as { webSocket: WebSocket };
          webSocket.accept();
          for (let i = int(1, 3); i > 0 && webSocket.readyState === 1; i--) webSocket.send('add');
        },
      },
      {
        weight: 3,
        call: () => written((view, id, who) => view.sql.execMany(INSERT, rowsOf(id, who)))(),
      },
      {
        weight: 2,
        call: () =>
          written((view, id, who) =>
            view.batch(rowsOf(id, who).map((bindings) => [INSERT, ...bindings] as const)),
          )(),
      },
      {
        weight: 2,
        call: () =>
          written((view, id) =>
            view.kv.putMany(KEYS_PER_TAB_WRITE.map((name) => [name, id] as const)),
          )(),
      },
      {
        weight: 2,
        call: () =>
          written((view, id, who) =>
            view.transaction(async (txn) => {
              for (const bindings of rowsOf(id, who))
                await view.sql.exec(INSERT, ...bindings).ready;
              await txn.put(Object.fromEntries(KEYS_PER_TAB_WRITE.map((name) => [name, id])));
            }),
          )(),
      },
      {
        // This reverts the last commit, unless a constructor wrote it, because that commit creates the tables.
        weight: 2,
        call: page(async (handle) => {
          const [last] = await handle.history({ limit: 1 });
          if (last !== undefined && last.by?.kind !== 'constructor') {
            await handle.revert(last.bookmark);
          }
        }),
      },
      {
        weight: 1,
        call: page(async (handle) => {
          const commits = await handle.history({ limit: 5 });
          if (commits.length > 0) await handle.restore(pick(commits).bookmark);
        }),
      },
      { weight: 1, call: page((handle) => handle.getCurrentBookmark()) },
    ];
  }

  /** Performs an operation of a tab. Its errors come from faults; the commits are checked at rest. */
  async #page(
    name: string,
    tab: number,
    operation: (handle: StorageHandle) => Promise<unknown>,
  ): Promise<void> {
    try {
      await operation(await this.#tabs[tab]!.open(this.#stub(name)));
    } catch (error) {
      if (!isStorageError(error)) throw error;
    }
  }
}
