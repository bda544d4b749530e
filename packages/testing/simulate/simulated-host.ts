// Starts one host of a run, on files that outlive it, and ends it in one of several ways.

import { checkedEnv } from '@ctx-storage/core/calls';
import { storageError } from '@ctx-storage/core/errors';
import {
  addressKey,
  ObjectId as DurableObjectId,
  type ObjectAddress,
} from '@ctx-storage/core/object';
import { installHtmlRewriter } from '@ctx-storage/html-rewriter';
import type { Sqlite } from '@ctx-storage/worker/engine';
import { lateCode } from '@ctx-storage/worker/engine';
import * as lateParts from '@ctx-storage/worker/late-parts';
import { ClassRegistry, type ClassTable } from '@ctx-storage/worker/objects';
import { wholeRealm } from '@ctx-storage/worker/realm';
import { type RunningHost, startHost } from '@ctx-storage/worker/start';
import type { Activity, SeenObject } from './activity.ts';
import { CrashCatalog } from './world/crash-catalog.ts';
import { CrashMedium } from './world/crash-medium.ts';
import type { World } from './world.ts';

/** The files of a run's objects, and the index of the objects. */
export interface Files {
  readonly medium: CrashMedium;
  readonly catalog: CrashCatalog;
}

export function newFiles(world: World): Files {
  const { random } = world;
  const { turn } = world.turns;
  return {
    medium: new CrashMedium(random, { flush: random.pick(['now', 'late', 'late']), turn }),
    catalog: new CrashCatalog(random, new Map(), turn),
  };
}

export interface HostOptions {
  readonly sqlite: Sqlite;
  readonly world: World;
  readonly activity: Activity;
  readonly files: Files;
  readonly classes: ClassTable;
  readonly env: object;
  /** How long an idle object stays in memory, in milliseconds. */
  readonly idleMs: number;
}

/** A host, with the functions that a run needs. */
export interface HostOfRun {
  readonly env: Record<string, object>;
  readonly files: Files;
  /** Whether the host has crashed, so that nothing it does reaches anybody. */
  readonly isLost: boolean;
  /** Whether an eviction is performed as a restart of the host while no call is in flight. */
  readonly restartsAtRest: boolean;
  /** The delay, in milliseconds, of the next timer of the host, which may be an alarm's. */
  lateMs: number;
  /** Returns the objects that are in memory. */
  inMemory(): SeenObject[];
  /** Ends the instance of an object, whose running calls reject. */
  reset(seen: SeenObject): Promise<void>;
  /** Returns when the object's alarm is due, in milliseconds; null if it has none. */
  alarmOf(seen: SeenObject): Promise<number | null>;
  /** Returns the object's database as a SQLite file; undefined if it is not available. */
  databaseOf(seen: SeenObject): Promise<Uint8Array | undefined>;
  /** Closes the host in order: every write becomes durable, and running calls reject. */
  close(): Promise<void>;
  /** Ends the host at once, as if power had failed, and returns the files as they are when power is back. */
  lose(): Promise<Files>;
}

export type StartHost = (options: HostOptions) => Promise<HostOfRun>;

export class SimulatedHost implements HostOfRun {
  readonly env: Record<string, object>;
  isLost = false;
  readonly restartsAtRest = false;
  lateMs = 0;
  readonly #options: HostOptions;
  readonly running: RunningHost;

  static async start(options: HostOptions): Promise<SimulatedHost> {
    lateCode.give(lateParts);
    const { sqlite, world, activity, files, idleMs } = options;
    const late = { of: (): number => 0 };
    const time = {
      now: () => world.time.now(),
      elapsed: () => world.time.elapsed(),
      after: (delayMs: number, task: () => void) => {
        let cancel = world.time.after(delayMs, () => {
          const lateMs = late.of();
          if (lateMs === 0) task();
          else cancel = world.time.after(lateMs, task);
        });
        return () => cancel();
      },
    };
    const { turns } = world;
    const realm = wholeRealm;
    realm.extend(installHtmlRewriter);
    const platform = { sqlite, ...files, turns, time, idleMs, realm, isDedicated: false };
    const watched = Object.entries(options.classes).map(([name, entry]) => {
      if (typeof entry === 'function') return [name, activity.watch(name, entry)];
      return [name, { ...entry, class: activity.watch(name, entry.class) }];
    });
    const registry = new ClassRegistry(Object.fromEntries(watched) as ClassTable);
    const running = await startHost({ ...platform, sendsStreams: true }, registry, {
      env: options.env,
    });
    const host = new SimulatedHost(options, running, registry);
    late.of = () => host.#takeLate();
    return host;
  }

  private constructor(options: HostOptions, running: RunningHost, registry: ClassRegistry) {
    this.#options = options;
    this.running = running;
    const { outsideEnv } = running.namespaces;
    this.env = checkedEnv(outsideEnv, registry.bindings.keys()) as Record<string, object>;
  }

  get files(): Files {
    return this.#options.files;
  }

  inMemory(): SeenObject[] {
    const { instances } = this.running.host;
    return [...this.#options.activity.objects.values()].filter(
      (seen) => instances.live(addressKey(addressOf(seen))) !== undefined,
    );
  }

  reset(seen: SeenObject): Promise<void> {
    const reason = storageError('OBJECT_RESET', 'The simulation resets the object.');
    return this.running.host.reset(addressOf(seen), reason);
  }

  alarmOf(seen: SeenObject): Promise<number | null> {
    return this.running.host.deliver(addressOf(seen), async ({ storage }) => storage.storedAlarm);
  }

  databaseOf(seen: SeenObject): Promise<Uint8Array> {
    return this.running.host.exportDatabase(addressOf(seen));
  }

  async close(): Promise<void> {
    await this.running.close().catch(() => {}); // no caller waits for a flush that fails
  }

  async lose(): Promise<Files> {
    this.isLost = true;
    const { medium, catalog } = this.#options.files;
    medium.powerOff();
    await this.close();
    return { medium: medium.afterLoss(), catalog: catalog.afterLoss() };
  }

  #takeLate(): number {
    const { lateMs } = this;
    this.lateMs = 0;
    return lateMs;
  }
}

function addressOf({ className, id }: SeenObject): ObjectAddress {
  return { className, id: new DurableObjectId(id) };
}
