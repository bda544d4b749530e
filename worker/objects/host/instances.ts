// The instances of a host's objects: finds, opens, resets and closes the instance of an address.
//
// Invariant: an object has at most one instance, and a new one opens its files only after the old
// one has released them. Every end of an instance (eviction, reset, deletion, the host's end) names
// that instance, never the object: the next one may already exist. Once closed, nothing opens.

import type { StorageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { addressKey, isBelow, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { OpenFiles } from '../../engine/file/open-files.ts';
import type { FacetStartup } from '../instance/object-class.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

/** The state of an object in use: its instance, or the ends of earlier instances to wait for before the next one. */
type Slot =
  | { readonly kind: 'opening'; readonly instance: Promise<ObjectInstance> }
  | { readonly kind: 'live'; readonly instance: ObjectInstance }
  | { readonly kind: 'closing'; readonly released: Promise<void>; readonly isRemoved: boolean };

/** A call of `use`. Calls of one object begin in the order in which they were made. */
interface Caller {
  /** True once `use` was called, or no instance could be made. */
  hasBegun: boolean;
  /** Lets the next caller of the object begin; absent while no other caller waits. */
  begun?: () => void;
}

export interface InstancesOwner {
  /** Makes an instance of the object, or of a facet. @throws errors of opening its files */
  make(key: string, address: ObjectAddress, startup?: FacetStartup): Promise<ObjectInstance>;
  /** Called when the instance was made, and its constructor has not failed. */
  opened(instance: ObjectInstance): void;
  /** Ends the instance in order. @throws errors of its last flush */
  close(key: string, instance: ObjectInstance, reason: StorageError): Promise<void>;
}

export class Instances {
  readonly #owner: InstancesOwner;
  readonly #slots = new Map<string, Slot>();
  /** The last caller of each object; absent if all callers have begun. */
  readonly #callers = new Map<string, Caller>();
  #closed: StorageError | undefined;

  constructor(owner: InstancesOwner) {
    this.#owner = owner;
  }

  /**
   * Returns the instance of an address; opens the object if it has no instance. The instance may be evicted from the
   * next turn on, unless it is used. A facet needs its startup. `removed` is the error if the object is being removed,
   * for a caller that the removal waits for.
   *
   * @throws errors of opening the object's files; the error of `close` after that
   */
  get(
    address: ObjectAddress,
    startup?: FacetStartup,
    removed?: () => StorageError,
  ): Promise<ObjectInstance> {
    return this.#get(addressKey(address), address, startup, removed);
  }

  async #get(
    key: string,
    address: ObjectAddress,
    startup?: FacetStartup,
    removed?: () => StorageError,
  ): Promise<ObjectInstance> {
    for (;;) {
      this.checkOpen();
      const slot = this.#slots.get(key);
      if (slot === undefined) return this.#open(key, address, startup);
      if (slot.kind !== 'closing') return slot.instance;
      if (slot.isRemoved && removed !== undefined) throw removed();
      await slot.released;
    }
  }

  /**
   * Calls `use` with the instance of an address: for each object in the order of the calls. If the instance was closed
   * in order while the caller waited, the next instance is used. `removed`: as for `get`; a caller that passes it does
   * not wait for earlier callers, because they may wait for the removal.
   *
   * @throws as `get`, and the error of the use
   */
  async use<T>(
    address: ObjectAddress,
    use: (instance: ObjectInstance) => T | PromiseLike<T>,
    removed?: () => StorageError,
  ): Promise<T> {
    const key = addressKey(address);
    const earlier = this.#callers.get(key);
    const caller: Caller = { hasBegun: false };
    this.#callers.set(key, caller);
    try {
      // While the object opens or closes, its callers are answered in no certain order.
      let instance = await this.#get(key, address, undefined, removed);
      if (removed === undefined && earlier?.hasBegun === false) {
        await new Promise<void>((begun) => void (earlier.begun = begun));
      }
      while (instance.context.wasClosed) {
        instance = await this.#get(key, address, undefined, removed);
      }
      // The result is not awaited here: the next caller may begin at once.
      return use(instance);
    } finally {
      if (earlier?.hasBegun === false) earlier.begun = () => this.#begin(key, caller);
      else this.#begin(key, caller);
    }
  }

  #begin(key: string, caller: Caller): void {
    caller.hasBegun = true;
    caller.begun?.();
    if (this.#callers.get(key) === caller) this.#callers.delete(key);
  }

  /** Returns the object's instance if it exists now. Returns undefined also after `closeAll`. */
  live(key: string): ObjectInstance | undefined {
    const slot = this.#closed === undefined ? this.#slots.get(key) : undefined;
    return slot?.kind === 'live' ? slot.instance : undefined;
  }

  /** Lists the addresses of objects with an instance. Facets are left out, because they end with their parents. */
  running(): ObjectAddress[] {
    return [...this.#slots.values()].flatMap((slot) =>
      slot.kind === 'live' && slot.instance.address.facet === undefined
        ? slot.instance.address
        : [],
    );
  }

  /** True while the object has an instance, or files that an earlier instance has not released. */
  has(key: string): boolean {
    return this.#slots.has(key);
  }

  /** True while an event of an instance is not answered, or an instance opens or closes. */
  get isBusy(): boolean {
    return [...this.#slots.values()].some(
      (slot) => slot.kind !== 'live' || slot.instance.context.eventCount > 0,
    );
  }

  /** Lists the keys of objects with files that an instance has not released yet. */
  closing(): string[] {
    return [...this.#slots].flatMap(([key, { kind }]) => (kind === 'closing' ? [key] : []));
  }

  /** Resets the object's instance, if there is one; resolves when its files are free. */
  async reset(key: string, reason: unknown): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    if (slot.kind !== 'closing') (await opened(slot))?.reset(reason, 'outside');
    await this.#untilReleased(key);
  }

  /** Lists the keys of objects below this one that have an instance, or unreleased files of an instance. */
  keysBelow(key: string): string[] {
    return [...this.#slots.keys()].filter((other) => isBelow(other, key));
  }

  /**
   * Ends the object's instance, if there is one, at once. The next instance opens when `afterwards` has ended. Settles
   * like `afterwards`.
   */
  end(key: string, reason: unknown, afterwards: () => Promise<void>): Promise<void> {
    const slot = this.#slots.get(key);
    const done = endOf(slot, reason).then(afterwards);
    this.release(key, done, true);
    return done;
  }

  /**
   * Returns the result of `live` for the present instance of the object. If there is no instance, returns the result of
   * `closed`, during which no instance is opened.
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

  /** Closes this instance; returns undefined if it is no longer the live instance of the object. */
  close(key: string, instance: ObjectInstance, reason: StorageError): Promise<void> | undefined {
    const slot = this.#slots.get(key);
    if (slot?.kind !== 'live' || slot.instance !== instance) return undefined;
    const ended = this.#owner.close(key, instance, reason);
    this.release(key, ended);
    return ended;
  }

  /** Called when this instance was reset. */
  ended(key: string, instance: ObjectInstance, released: Promise<void>): void {
    const slot = this.#slots.get(key);
    const isNext = slot?.kind === 'live' && slot.instance !== instance;
    assert(!isNext, 'the end of an instance met the next one');
    this.release(key, released);
  }

  /**
   * Called when the object has no instance any more. The next instance opens when `released` and the earlier ends have
   * settled. `isRemoved` says that the object is removed meanwhile.
   */
  release(key: string, released: Promise<void>, isRemoved = false): void {
    const slotBefore = this.#slots.get(key);
    const earlier = slotBefore?.kind === 'closing' ? slotBefore : undefined;
    const all: Promise<unknown> = earlier
      ? Promise.allSettled([earlier.released, released])
      : released;
    const done = () => {
      if (this.#slots.get(key) === slot) this.#slots.delete(key);
    };
    // An end that comes later does not hide that the object is being removed.
    const slot: Slot = {
      kind: 'closing',
      released: all.then(done, done),
      isRemoved: isRemoved || earlier?.isRemoved === true,
    };
    this.#slots.set(key, slot);
  }

  /**
   * Closes all instances, and opens none from now on: callers get the error `closed`.
   *
   * @throws errors of an instance's last flush, after all are closed
   */
  async closeAll(closed: StorageError, reason: StorageError): Promise<void> {
    this.#closed ??= closed;
    // A facet is opened after its parent, and ends with its parent. Close the last instance first, so that each facet
    // ends in order, and can be asked how it ended.
    const keys = [...this.#slots.keys()].reverse();
    const ends = await Promise.allSettled(keys.map((key) => this.#closeObject(key, reason)));
    // Instances that were reset meanwhile still have to release their files.
    for (const key of this.#slots.keys()) await this.#untilReleased(key);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** Checks that the host has not ended. @throws CONNECTION_CLOSED after the end of the host */
  checkOpen(): void {
    if (this.#closed !== undefined) throw this.#closed;
  }

  #open(key: string, address: ObjectAddress, startup?: FacetStartup): Promise<ObjectInstance> {
    const instance = this.#owner.make(key, address, startup);
    const slot: Slot = { kind: 'opening', instance };
    this.#slots.set(key, slot);
    instance.then(
      (live) => {
        if (this.#slots.get(key) !== slot) return; // The constructor has failed.
        this.#slots.set(key, { kind: 'live', instance: live });
        this.#owner.opened(live);
      },
      () => {
        if (this.#slots.get(key) === slot) this.#slots.delete(key);
      },
    );
    return instance;
  }

  /** Closes the present instance of the object. @throws errors of its last flush */
  async #closeObject(key: string, reason: StorageError): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot === undefined || slot.kind === 'closing') return this.#untilReleased(key);
    const instance = await opened(slot);
    if (instance === undefined) return;
    await (this.close(key, instance, reason) ?? this.#untilReleased(key));
  }

  async #untilReleased(key: string): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot?.kind === 'closing') await slot.released;
  }
}

/** Returns the instance of a slot; undefined if it could not be opened, which its callers learn from the error. */
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

/** The last reset of an object. */
export interface Reset {
  readonly number: number;
  readonly reason: unknown;
}

/**
 * Records which objects reset themselves, when and why, and informs calls that belong to an earlier instance. A reset
 * from outside (a handle's abort, an import, a deletion) breaks no stub.
 *
 * Invariant: resets of all objects of a host are numbered in order. Only the last one of each object is kept, because a
 * stub that breaks remembers its reset.
 */
export class Resets {
  readonly #last = new Map<string, Reset>();
  #count = 0;

  /** Number of resets so far. A call made now reaches the instance after the last of them. */
  get count(): number {
    return this.#count;
  }

  add(key: string, reason: unknown): void {
    this.#count += 1;
    this.#last.set(key, { number: this.#count, reason });
  }

  /** Returns the reset that ended the instance to which this count belongs; undefined if no reset did. */
  after(key: string, count: number): Reset | undefined {
    const last = this.#last.get(key);
    return last !== undefined && last.number > count ? last : undefined;
  }
}

/** The part of an instance that eviction needs. */
export type Evictable = Pick<ObjectInstance, 'address' | 'context'>;

export interface CrowdingEnvironment {
  readonly files: Pick<OpenFiles, 'shortage'>;
  nextTurn(task: () => void): void;
  /** Returns the number of files that the instance has open. */
  openOf(instance: Evictable): number;
  /** Returns the number of files that instances which are being closed still have open. */
  closing(): number;
  /** Called when files are short and no instance is idle: releases an instance that is kept without need. */
  makeRoom(): void;
}

/**
 * Evicts idle instances before their time, the least recently used first, when other objects need the
 * files that they have open.
 *
 * Invariant: only an instance that nothing uses is evicted, in a turn of its own, so that a caller that has
 * just found it uses it first. The evictions free as many files as are wanted, after the files of instances that
 * are closing already.
 */
export class Crowding {
  readonly #environment: CrowdingEnvironment;
  /** Idle instances in the order of their last use. Some of them are in use again, or have ended. */
  readonly #rested = new Set<Evictable>();
  #look: 'none' | 'scheduled' | 'under way' = 'none';

  constructor(environment: CrowdingEnvironment) {
    this.#environment = environment;
  }

  /**
   * Called when nothing uses the instance any more, which is at the end of every event. It is an arrow function because
   * it is passed on as a value.
   */
  readonly rested = (instance: Evictable): void => {
    this.#rested.delete(instance);
    this.#rested.add(instance);
    if (this.#environment.files.shortage > 0) this.evictSoon();
  };

  /** Called when the instance has ended, so that it is no longer a candidate for eviction. */
  ended(instance: Evictable): void {
    this.#rested.delete(instance);
  }

  /** Called when files are wanted and none is free: evicts instances in a later turn. */
  evictSoon(): void {
    // An instance that stays is added to the idle ones again during the search. That must not start another search.
    if (this.#look !== 'none') return;
    this.#look = 'scheduled';
    this.#environment.nextTurn(() => {
      this.#look = 'under way';
      try {
        this.#evict();
      } finally {
        this.#look = 'none';
      }
    });
  }

  #evict(): void {
    const { files, closing, makeRoom } = this.#environment;
    // An instance that stays in spite of the eviction is added again at the end of the order.
    for (const instance of [...this.#rested]) {
      if (files.shortage <= closing()) return;
      this.#rested.delete(instance);
      if (instance.context.isIdle && this.#environment.openOf(instance) > 0)
        instance.context.evict();
    }
    if (files.shortage > closing()) makeRoom();
  }
}
