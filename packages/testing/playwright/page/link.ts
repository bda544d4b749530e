// The helper's connection to the worker that leads a directory, for as long as that worker leads.
//
// While a worker of the app is alive, the helper starts none, and follows the leader. Otherwise it starts its own,
// which knows no class. When the app's page opens, the app's worker takes over, because its deployment is newer, and
// the helper ends its own worker, so that it never leads in the app's place.

import { createStub, FREE, fromWireAddress, Party, PartyCaller } from '@ctx-storage/core/calls';
import { storageError } from '@ctx-storage/core/errors';
import type { PageEnvironment } from '@ctx-storage/core/page';
import {
  forkBranch,
  LeaderFinder,
  ObjectsClient,
  openKeptBranch,
  RemoteStorage,
  Session,
  Status,
} from '@ctx-storage/core/page';
import type { ClassList, WireAddress } from '@ctx-storage/core/wire';
import { type DirectoryFacts, HELPER_FILES } from './helper-protocol.ts';

export class Link {
  readonly client: ObjectsClient;
  readonly #finder: LeaderFinder;
  readonly #environment: PageEnvironment;
  readonly #storages = new Map<string, Promise<RemoteStorage>>();
  readonly #branches = new Map<string, Promise<WireAddress>>();
  #worker: Worker | null = null;
  #isOver = false;
  #follows = false;

  /** `leads` means that no worker of the app is alive, so the helper starts its own. */
  constructor(facts: DirectoryFacts, leads: boolean, environment: PageEnvironment) {
    this.#environment = environment;
    this.#finder = new LeaderFinder(
      {
        operation: 'objects',
        directory: facts.directory,
        medium: facts.medium,
        wasmUrl: new URL(HELPER_FILES.wasm, location.href).href,
        source: { kind: 'spawned', spawn: () => this.#spawn(leads) },
      },
      environment,
    );
    this.client = new ObjectsClient(
      this.#finder,
      new Status(this.#finder.standing, environment.now),
      environment.now,
    );
    this.#finder.standing.onStanding(() => this.#changed());
  }

  /** Whether the worker of this connection no longer leads. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether a worker of the app leads. */
  get followsApp(): boolean {
    return this.#follows;
  }

  /** Resolves once the connection is established. @throws the errors of `connect` */
  async connect(): Promise<void> {
    await this.#finder.connection();
  }

  /** Returns the classes that the worker serves; the helper's own worker serves none. */
  classes(): Promise<ClassList> {
    return this.client.classes();
  }

  /** Returns the storage of an object, which is opened once. */
  storage(address: WireAddress): Promise<RemoteStorage> {
    const key = keyOf(address);
    const known = this.#storages.get(key);
    if (known !== undefined) return known;
    const opening = this.#open(address);
    this.#storages.set(key, opening);
    opening.catch(() => this.#storages.delete(key));
    return opening;
  }

  /**
   * Forks an object into an open branch. The branch is kept, because the worker that holds it may be the helper's own,
   * which ends when the app's page opens. @throws the errors of the handle's `fork`
   */
  async fork(
    origin: WireAddress,
    name: string,
    options: { readonly at: string | Date | null; readonly fetch: 'allow' | 'refuse' },
  ): Promise<WireAddress> {
    const session = await this.#session(origin);
    try {
      const args = [{ ...options, name, keep: true }];
      const made = await forkBranch(session, this.#environment.now, args);
      const { address } = made;
      const storage = new RemoteStorage(made.session, this.#environment);
      this.#storages.set(keyOf(address), Promise.resolve(storage));
      this.#branches.set(branchKeyOf(origin, name), Promise.resolve(address));
      return address;
    } finally {
      await session.close();
    }
  }

  /** Returns the address of a branch that the object keeps. It is looked up once. @throws BRANCH_ENDED */
  branch(origin: WireAddress, name: string): Promise<WireAddress> {
    const key = branchKeyOf(origin, name);
    const known = this.#branches.get(key);
    if (known !== undefined) return known;
    const finding = this.#find(origin, name);
    this.#branches.set(key, finding);
    finding.catch(() => this.#branches.delete(key));
    return finding;
  }

  /** Returns the stub of an object, whose methods call it. */
  stub(address: WireAddress): Record<string, (...parameters: unknown[]) => Promise<unknown>> {
    const party = new Party(FREE, () => caller);
    const caller = new PartyCaller(party, this.client.carry);
    return createStub(fromWireAddress(address), caller) as never;
  }

  /** Ends the connection, and the helper's worker. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#finder.close(storageError('CONNECTION_CLOSED', 'The worker that led leads no more.'));
    this.#worker?.terminate();
  }

  async #open(address: WireAddress): Promise<RemoteStorage> {
    return new RemoteStorage(await this.#session(address), this.#environment);
  }

  async #session(address: WireAddress): Promise<Session> {
    const name = address.name ?? address.id;
    const { className, branch } = address;
    const isPlain = className === null && address.name !== undefined && branch === undefined;
    const { now } = this.#environment;
    const session = new Session(name, this.#finder, now, isPlain ? name : address);
    await session.open();
    return session;
  }

  async #find(origin: WireAddress, name: string): Promise<WireAddress> {
    const session = await this.#session(origin);
    try {
      const found = await openKeptBranch(session, this.#environment.now, [name]);
      await found.session.close();
      return found.address;
    } finally {
      await session.close();
    }
  }

  #spawn(leads: boolean): Worker {
    if (!leads || this.#follows) throw new Error('the worker of the app is to lead');
    this.#worker = new Worker(new URL(HELPER_FILES.worker, location.href), { type: 'module' });
    return this.#worker;
  }

  #changed(): void {
    const { state } = this.#finder.standing.standing;
    if (state === 'following' && !this.#follows) {
      this.#follows = true;
      // The worker has closed its files by now. If it were not terminated, it would wait to lead again.
      this.#worker?.terminate();
      return;
    }
    const wasFollowing = this.#follows && state !== 'following';
    if (wasFollowing || state === 'lost') this.end();
  }
}

function branchKeyOf(origin: WireAddress, name: string): string {
  return `${keyOf(origin)} ${name}`;
}

function keyOf({ className, id, branch = [] }: WireAddress): string {
  return [className, id, ...branch].join('.');
}
