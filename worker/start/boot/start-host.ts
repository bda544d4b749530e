// Starts a host of objects on any platform, which is passed in, and registers it with the global scope and the library
// that object code uses; and makes its answers wait until its files are known to still exist.
//
// Does not know files: the watch is passed in.

import { isTaskExact } from '../../../src/shared/calls/io/current-context.ts';
import { undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
import type { Pace } from '../../../src/shared/wire/channel-endpoint.ts';
import type { Notices } from '../../../src/shared/wire/control.ts';
import { type Outcome, toWire } from '../../../src/shared/wire/errors-on-wire.ts';
import type {
  LiveService,
  ObjectsService,
  StorageService,
} from '../../../src/shared/wire/protocol.ts';
import type { WorkerService } from '../../../src/shared/wire/worker-end.ts';
import type { ObjectMedium } from '../../engine/file/medium.ts';
import type { Space } from '../../engine/file/space-watch.ts';
import type { FileSizes } from '../../engine/log/object-files.ts';
import { completeLimits, type Limits } from '../../engine/sql/query-limits.ts';
import { Databases } from '../../engine/storage/databases.ts';
import type { Sqlite } from '../../engine/vfs/sqlite-module.ts';
import { Namespaces } from '../../objects/calls/namespaces.ts';
import type { ObjectCatalog } from '../../objects/catalog/catalog.ts';
import { Clock, type SystemTime, systemTime } from '../../objects/clock/clock.ts';
import { ClockControl } from '../../objects/host/clock-control.ts';
import { ObjectHost } from '../../objects/host/object-host.ts';
import { ObjectManager } from '../../objects/host/object-manager.ts';
import type { HostEnvironment } from '../../objects/instance/environment.ts';
import type { ClassRegistry } from '../../objects/instance/object-class.ts';
import { MessageTurns, TURNS_PER_MESSAGE, type Turns } from '../../objects/io/turns.ts';
import type { KeptResults } from '../../objects/live/kept-results.ts';
import { realm } from '../../realm/globals/realm.ts';
import { registerRunningHost } from '../../realm/library/running-hosts.ts';

/** The platform of a host. */
export interface Platform {
  readonly sqlite: Sqlite;
  readonly medium: ObjectMedium;
  readonly catalog: ObjectCatalog;
  /** Turns of the event loop. @default messages that the thread posts to itself */
  readonly turns?: Turns;
  /** @default the runtime's own */
  readonly time?: SystemTime;
  /** True when the network accepts a stream as a body. @default false: browsers do not */
  readonly sendsStreams?: boolean;
  /** How long an instance without events stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** Sizes of the objects' files. @default the usual ones */
  readonly fileSizes?: FileSizes;
  /** How much history objects keep. @default 30 days, within historyBytes */
  readonly history?: HistoryLimits;
  /** Limits of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
  /** True when the flag of a call was revoked. @default never: calls are cancelled between turns only */
  readonly isRevoked?: (flag: string) => boolean;
  /** How much space there is for files. @default nobody is told that it is short */
  readonly estimate?: () => Promise<Space>;
  /** Keeps results of live reads for the next visit of a page. @default nothing is kept */
  readonly kept?: KeptResults;
  /** True when all code of the scope belongs to the objects, and sees their clock. */
  readonly isDedicated: boolean;
}

/** A running host and the parts that its callers use. */
export interface RunningHost {
  readonly host: ObjectHost;
  readonly namespaces: Namespaces;
  readonly manager: ObjectManager;
  /** Turns of the thread. */
  readonly turns: MessageTurns;
  /**
   * Ends every object after its last write is durable, and removes the host from scope and library.
   * `fact` is the reason for events that still run.
   */
  close(fact?: string): Promise<void>;
}

/** Opens nothing until an object is used or its alarm is due. */
export async function startHost(
  platform: Platform,
  classes: ClassRegistry,
  env: object,
): Promise<RunningHost> {
  // Not the platform itself: it would keep the first instance of SQLite, and all of its memory.
  const { time = systemTime, catalog, isDedicated } = platform;
  const messages = new MessageTurns(isTaskExact ? 1 : TURNS_PER_MESSAGE);
  const clock = new Clock(time);
  const environment = environmentOf(platform, platform.turns ?? messages, time, clock);
  const host = new ObjectHost(environment, classes, (instance) => namespaces.bindings(instance));
  const control = new ClockControl(clock, host.alarms, environment);
  const manager = new ObjectManager(host, control, environment);
  const afterRealTime = (delayMs: number, task: () => void) => time.after(delayMs, task, false);
  const namespaces = new Namespaces(host, env, manager, afterRealTime);
  const leave = [
    () => messages.close(),
    () => clock.close(),
    realm.register({ host: host.io, isDedicated }),
    registerRunningHost(host.io, {
      caller: namespaces.ambient,
      env: namespaces.ambientEnv,
      exports: namespaces.ambientExports,
      waitUntil: (work) => host.currentContext?.keepAlive(work),
    }),
  ];
  const close = (fact?: string) => {
    namespaces.close();
    return host.close(fact).finally(() => {
      undoAll(leave);
      catalog.close();
    });
  };
  try {
    await host.start();
  } catch (error) {
    await close();
    throw error;
  }
  return { host, namespaces, manager, turns: messages, close };
}

function environmentOf(
  platform: Platform,
  turns: Turns,
  time: SystemTime,
  clock: Clock,
): HostEnvironment {
  const { limits = completeLimits() } = platform;
  const databases = new Databases(platform.sqlite, limits);
  return {
    now: () => clock.now(),
    elapsed: () => clock.elapsed(),
    randomUint32: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    nextTurn: (task) => turns.nextTurn(task),
    beforeNextTurn: (task) => (turns.beforeNextTurn ?? turns.nextTurn).call(turns, task),
    at: (timeMs, task) => clock.at(timeMs, task),
    after: (delayMs, task, keepsAlive) => clock.after(delayMs, task, keepsAlive),
    isTimeControlled: () => clock.isControlled,
    sendsStreams: platform.sendsStreams ?? false,
    afterRealTime: (delayMs, task, keepsAlive = false) => time.after(delayMs, task, keepsAlive),
    medium: platform.medium,
    catalog: platform.catalog,
    ...(platform.kept && { kept: platform.kept }),
    ...(platform.isRevoked && { isRevoked: platform.isRevoked }),
    ...(platform.fileSizes !== undefined && { fileSizes: platform.fileSizes }),
    ...(platform.history !== undefined && { history: platform.history }),
    ...(platform.estimate !== undefined && { estimate: platform.estimate }),
    ...(platform.idleMs !== undefined && { idleMs: platform.idleMs }),
    limits,
    openDatabase: (files, events, limits) => databases.open(files, events, limits),
  };
}

/** The part of file/clearance-watch that is used. */
export interface Watch {
  /** Resolves to the reason when the files are gone, or cannot be reached any more. */
  readonly cleared: Promise<Error>;
  /**
   * Does the work; its result itself if that is there, and the files were seen lately.
   *
   * @throws the reason, as a rejection, when the files are gone
   */
  during<T>(work: () => T | Promise<T>): T | Promise<T>;
}

/** How the host behind the services ends. */
export interface HostLife {
  readonly isQuiet: boolean;
  rest(): void;
  close(fact: string): Promise<void>;
  /** The notices to every page. */
  readonly notices: Notices;
  readonly pace: Pace;
}

/** The services of a host, whose answers wait until its files are known to still exist. */
export function watchedHost(
  host: StorageService,
  objects: ObjectsService,
  live: LiveService,
  watch: Watch,
  life: HostLife,
): WorkerService {
  const guard = async <T>(work: () => Promise<Outcome<T>>): Promise<Outcome<T>> => {
    try {
      return await watch.during(work);
    } catch (error) {
      return { error: toWire(error) };
    }
  };
  return {
    lost: watch.cleared,
    notices: life.notices,
    pace: life.pace,
    get isQuiet() {
      return life.isQuiet;
    },
    rest: () => life.rest(),
    end: (fact) => life.close(fact),
    open: (target, client) => guard(() => host.open(target, client)),
    // If it rejects, the error is the outcome of each call.
    execute: (session, calls) => watch.during(() => host.execute(session, calls)),
    ...(host.cancel && { cancel: (flags) => host.cancel!(flags) }),
    close: (session) => host.close(session),
    objects: {
      connect(peer) {
        const connection = objects.connect(peer);
        return {
          ...connection,
          // A watch lasts as long as the object does; it shows nothing of the stored data.
          call: (address, request) =>
            request.op === 'watch'
              ? connection.call(address, request)
              : guard(() => connection.call(address, request)),
          manage: (request) => guard(() => connection.manage(request)),
        };
      },
    },
    live: {
      connect() {
        const connection = live.connect();
        return {
          ...connection,
          openLive: (start) => guard(() => connection.openLive(start)),
          // It may wait for hours; the files are looked for when there is a result.
          async nextLive(number) {
            const outcome = await connection.nextLive(number);
            return guard(async () => outcome);
          },
        };
      },
    },
  };
}
