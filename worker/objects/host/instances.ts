// The instances of a host's objects: finds, opens, resets and closes the one of an address.
//
// Invariant: an object has at most one live instance, and a new one opens its files only after the old
// one has released them. What ends an instance (eviction, reset, deletion, the host's end) names that
// instance, never the object: the next one may already be live. Once closed, nothing opens.

import type { StorageError } from '../../src/contract/errors.ts';
import { addressKey, isBelow, type ObjectAddress } from '../../src/contract/object-id.ts';
import type { FacetStartup } from '../instance/facet-startup.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

/** An object that was used: its instance, or what must end before the next. */
type Slot =
  | { readonly kind: 'opening'; readonly instance: Promise<ObjectInstance> }
  | { readonly kind: 'live'; readonly instance: ObjectInstance }
  | { readonly kind: 'closing'; readonly released: Promise<void> };

export interface InstancesOwner {
  /** Makes an instance of the object, or of a facet. @throws what opening its files throws */
  make(key: string, address: ObjectAddress, startup?: FacetStartup): Promise<ObjectInstance>;
  /** The instance was made, and its constructor has not failed. */
  opened(instance: ObjectInstance): void;
  /** Ends the instance in order. @throws what its last flush throws */
  close(key: string, instance: ObjectInstance, reason: StorageError): Promise<void>;
}

export class Instances {
  readonly #owner: InstancesOwner;
  readonly #slots = new Map<string, Slot>();
  #closed: StorageError | undefined;

  constructor(owner: InstancesOwner) {
    this.#owner = owner;
  }

  /**
   * The live instance of an address, which is opened if there is none. It may be evicted from the next
   * turn on, unless it is used. A facet needs its startup.
   *
   * @throws what opening its files throws; the error of `close` after that
   */
  async get(address: ObjectAddress, startup?: FacetStartup): Promise<ObjectInstance> {
    const key = addressKey(address);
    for (;;) {
      if (this.#closed !== undefined) throw this.#closed;
      const slot = this.#slots.get(key);
      if (slot === undefined) return this.#open(key, address, startup);
      if (slot.kind !== 'closing') return slot.instance;
      await slot.released;
    }
  }

  /** The instance of an address, if it is live now; undefined also after the end of all. */
  live(address: ObjectAddress): ObjectInstance | undefined {
    const slot = this.#closed === undefined ? this.#slots.get(addressKey(address)) : undefined;
    return slot?.kind === 'live' ? slot.instance : undefined;
  }

  /** True while the object has an instance, or files that one has not released. */
  has(key: string): boolean {
    return this.#slots.has(key);
  }

  /** True while an event of some instance is not answered, or an instance opens or closes. */
  get isBusy(): boolean {
    return [...this.#slots.values()].some(
      (slot) => slot.kind !== 'live' || slot.instance.context.eventCount > 0,
    );
  }

  /** The keys of objects with files that an instance has not released yet. */
  closing(): string[] {
    return [...this.#slots].flatMap(([key, { kind }]) => (kind === 'closing' ? [key] : []));
  }

  /** Resets the object's instance, if there is one; resolves when its files are free. */
  async reset(key: string, reason: unknown): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    if (slot.kind !== 'closing') (await opened(slot))?.reset(reason, 'outside');
    await this.#released(key);
  }

  /** The keys of objects below this one that have an instance, or files that one has not released. */
  keysBelow(key: string): string[] {
    return [...this.#slots.keys()].filter((other) => isBelow(other, key));
  }

  /**
   * Ends the object's instance, if it has one, at once; the next one opens when `afterwards` has
   * ended. Settles like `afterwards`.
   */
  end(key: string, reason: unknown, afterwards: () => Promise<void>): Promise<void> {
    const slot = this.#slots.get(key);
    const done = endOf(slot, reason).then(afterwards);
    this.release(key, done);
    return done;
  }

  /**
   * The result of `live` for the object's instance as it is now, or of `closed`, which no instance
   * overlaps.
   */
  async inspect<T>(
    key: string,
    live: (instance: ObjectInstance) => T,
    closed: () => Promise<T>,
  ): Promise<T> {
    const slot = this.#slots.get(key);
    if (slot?.kind === 'live') return live(slot.instance);
    if (slot?.kind === 'opening') {
      const instance = await opened(slot);
      const isLive = instance !== undefined && !instance.hasEnded;
      return isLive ? live(instance) : this.inspect(key, live, closed);
    }
    const result = (slot?.released ?? Promise.resolve()).then(closed);
    this.release(
      key,
      result.then(() => {}),
    );
    return result;
  }

  /** Closes this instance; undefined when it is not the live one any more. */
  close(key: string, instance: ObjectInstance, reason: StorageError): Promise<void> | undefined {
    const slot = this.#slots.get(key);
    if (slot?.kind !== 'live' || slot.instance !== instance) return undefined;
    const ended = this.#owner.close(key, instance, reason);
    this.release(key, ended);
    return ended;
  }

  /**
   * The object has no instance any more; the next one opens when `released` has settled, and what was
   * to settle before.
   */
  release(key: string, released: Promise<void>): void {
    const earlier = this.#slots.get(key);
    const all: Promise<unknown> =
      earlier?.kind === 'closing' ? Promise.allSettled([earlier.released, released]) : released;
    const done = () => {
      if (this.#slots.get(key) === slot) this.#slots.delete(key);
    };
    const slot: Slot = { kind: 'closing', released: all.then(done, done) };
    this.#slots.set(key, slot);
  }

  /**
   * Closes all instances, and opens none from now on: callers get the error `closed`.
   *
   * @throws what the last flush of an instance throws, after all are closed
   */
  async closeAll(closed: StorageError, reason: StorageError): Promise<void> {
    this.#closed ??= closed;
    // A facet is opened after its parent, and ends with it: the last one first, so that each ends in
    // order, and is asked how.
    const keys = [...this.#slots.keys()].reverse();
    const ends = await Promise.allSettled(keys.map((key) => this.#closeObject(key, reason)));
    // Those that were reset meanwhile still have to release their files.
    for (const key of this.#slots.keys()) await this.#released(key);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  #open(key: string, address: ObjectAddress, startup?: FacetStartup): Promise<ObjectInstance> {
    const instance = this.#owner.make(key, address, startup);
    const slot: Slot = { kind: 'opening', instance };
    this.#slots.set(key, slot);
    instance.then(
      (live) => {
        if (this.#slots.get(key) !== slot) return; // its constructor has failed
        this.#slots.set(key, { kind: 'live', instance: live });
        this.#owner.opened(live);
      },
      () => {
        if (this.#slots.get(key) === slot) this.#slots.delete(key);
      },
    );
    return instance;
  }

  /** Closes whatever instance the object has now. @throws what its last flush throws */
  async #closeObject(key: string, reason: StorageError): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot === undefined || slot.kind === 'closing') return this.#released(key);
    const instance = await opened(slot);
    if (instance === undefined) return;
    await (this.close(key, instance, reason) ?? this.#released(key));
  }

  async #released(key: string): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot?.kind === 'closing') await slot.released;
  }
}

/** The instance of a slot; undefined when it could not be opened, which its callers are told. */
async function opened(
  slot: Exclude<Slot, { readonly kind: 'closing' }>,
): Promise<ObjectInstance | undefined> {
  try {
    return await slot.instance;
  } catch {
    return undefined;
  }
}

/** Ends the instance of a slot at once; resolves when its files are free. */
function endOf(slot: Slot | undefined, reason: unknown): Promise<unknown> {
  const end = (instance: ObjectInstance | undefined) => {
    instance?.reset(reason, 'outside');
    return instance?.released ?? Promise.resolve();
  };
  switch (slot?.kind) {
    case undefined:
      return Promise.resolve();
    case 'opening':
      return opened(slot).then(end);
    case 'live':
      return end(slot.instance);
    case 'closing':
      return slot.released;
  }
}
