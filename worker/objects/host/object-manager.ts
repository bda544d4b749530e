// The actions of tools on a host's objects from outside: list them, delete them, drive their clock.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import {
  addressKey,
  DurableObjectId,
  type ObjectAddress,
} from '../../../src/shared/contract/object-id.ts';
import { KEPT_BRANCHES_NAME } from '../../engine/log/kept-branches.ts';
import { AlarmInvocationInfo } from '../alarms/alarm-scheduler.ts';
import { ALL, type CatalogEntry, type CatalogPart } from '../catalog/catalog.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import type { ClockControl } from './clock-control.ts';
import type { ObjectHost } from './object-host.ts';

/** An object that exists. */
export interface ListedObject {
  readonly address: ObjectAddress;
  /** Size of the object's files in bytes, including the history. */
  readonly sizeBytes: number;
  /** The time at which the object's alarm is due, in milliseconds; null when none is set. */
  readonly nextAlarm: number | null;
  /** The names of the object's kept branches. */
  readonly branches: readonly string[];
  /**
   * The reason why the object could not be opened; its alarm is then unknown. Null if it could be opened, or did not
   * need to be.
   */
  readonly error: Error | null;
}

export class ObjectManager {
  readonly clock: ClockControl;
  readonly #host: ObjectHost;
  readonly #environment: Pick<HostEnvironment, 'catalog' | 'medium'>;

  constructor(
    host: ObjectHost,
    clock: ClockControl,
    environment: Pick<HostEnvironment, 'catalog' | 'medium'>,
  ) {
    this.#host = host;
    this.clock = clock;
    this.#environment = environment;
  }

  /**
   * Lists the existing objects of a class in order of their ids, or a part of them. If each identity has a copy of the
   * objects, lists the copies of the present identity.
   *
   * @throws UNKNOWN_CLASS, CONNECTION_CLOSED
   */
  async list(className: string, { after, limit }: CatalogPart = ALL): Promise<ListedObject[]> {
    this.#host.instances.checkOpen();
    this.#host.classes.get(className);
    const found: ListedObject[] = [];
    for (let last = after; ; ) {
      const count = limit - found.length;
      const entries = await this.#environment.catalog.list(className, {
        after: last,
        limit: count,
      });
      const listed = await Promise.all(entries.map((entry) => this.#describe(entry)));
      found.push(...listed.filter((one) => one !== null));
      if (entries.length < count || found.length === limit) return found;
      last = entries.at(-1)!.id;
    }
  }

  /**
   * Removes the object and everything it stored; its unanswered events reject.
   *
   * @throws CONNECTION_CLOSED after the host was closed, because the folder may belong to another host by then
   */
  async delete(address: ObjectAddress): Promise<void> {
    this.#host.instances.checkOpen();
    if (address.className !== null) this.#host.classes.get(address.className);
    await this.#host.erase(address);
  }

  /**
   * Runs the alarm's handler now, whenever it is due, and removes the alarm; returns false if none is set. If the
   * handler fails, this rejects, and the handler is not run again.
   */
  async runAlarm(address: ObjectAddress): Promise<boolean> {
    return await this.#host.deliver(address, async ({ handlers, publicStorage: storage }) => {
      const scheduledTime = await storage.getAlarm();
      if (scheduledTime === null) return false;
      await storage.deleteAlarm();
      const info = new AlarmInvocationInfo({ scheduledTime, retryCount: 0 });
      await handlers.alarm?.(info);
      return true;
    });
  }

  /** Ends the object's instance in order, if there is one. The next event makes a new instance. */
  async evict(address: ObjectAddress, breaksSockets?: boolean): Promise<void> {
    await this.#host.evict(address, breaksSockets);
  }

  /** Evicts every object that has an instance. */
  async evictAll(breaksSockets?: boolean): Promise<void> {
    const { instances } = this.#host;
    await Promise.all(instances.running().map((address) => this.evict(address, breaksSockets)));
  }

  /** Resets every object that has an instance: unconfirmed writes are lost, unanswered events reject. */
  async abortAll(): Promise<void> {
    const reason = storageError('OBJECT_RESET', 'All objects were reset by the test.');
    const { instances } = this.#host;
    await Promise.all(instances.running().map((address) => this.#host.reset(address, reason)));
  }

  /** Describes the object of an entry; null if the present identity has no copy of the object. */
  async #describe({ className, id, name, wakeMs }: CatalogEntry): Promise<ListedObject | null> {
    const address = { className, id: new DurableObjectId(id, name) };
    let sizeBytes = 0;
    let branches: string[] = [];
    try {
      const located = await this.#host.located(address);
      const key = addressKey(located);
      const sizes = await this.#environment.medium.sizes(key);
      if (located !== address && sizes.size === 0) return null;
      sizeBytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
      // The time is 0 while the object is in memory: then only the object itself knows its alarm.
      const nextAlarm = wakeMs === 0 ? await this.#alarmOf(located, sizes.size > 0) : wakeMs;
      if (sizes.has(KEPT_BRANCHES_NAME)) {
        const kept = await this.#host.branches.listStored(key);
        branches = kept.flatMap(({ name }) => name ?? []);
      }
      return { address, sizeBytes, nextAlarm, branches, error: null };
    } catch (thrown) {
      if (isStorageError(thrown) && thrown.code === 'CONNECTION_CLOSED') throw thrown;
      // A damaged object, or an object whose constructor throws, must not hide the others.
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      return { address, sizeBytes, nextAlarm: null, branches, error };
    }
  }

  /**
   * Opens the object to read its alarm. Returns null if the object is being deleted or its files are gone, because
   * opening would create it again, empty.
   */
  async #alarmOf(address: ObjectAddress, hasFiles: boolean): Promise<number | null> {
    const { instances } = this.#host;
    if (!hasFiles && !instances.has(addressKey(address))) return null;
    const ask = (instance: ObjectInstance) => instance.deliver(() => instance.storage.storedAlarm);
    try {
      const removed = () => storageError('OBJECT_MISSING', 'It is being deleted.');
      return await instances.use(address, ask, removed);
    } catch (error) {
      if (isStorageError(error) && error.code === 'OBJECT_MISSING') return null;
      throw error;
    }
  }
}
