// The helper's way to the worker that leads a directory, for as long as that worker leads.
//
// While a worker of the app lives, the helper starts none and follows. Otherwise it starts its own, which knows no
// class; as soon as the app's page opens, the app's worker takes over from it in order, because it is of a newer
// deployment, and the helper ends its own, so that it never leads in the app's place.

import type { PageEnvironment } from '../../client/environment.ts';
import { LeaderFinder } from '../../client/leader-finder.ts';
import { ObjectsClient } from '../../client/objects-client.ts';
import { RemoteStorage } from '../../client/remote-storage.ts';
import { Session } from '../../client/session.ts';
import { Status } from '../../client/status.ts';
import { storageError } from '../../contract/errors.ts';
import { PartyCaller } from '../../membrane/caller.ts';
import type { ClassList, WireAddress } from '../../rpc/object-protocol.ts';
import { FREE, Party } from '../../stubs/party.ts';
import { createStub } from '../../stubs/stub.ts';
import { fromWireAddress } from '../../stubs/wire-address.ts';
import { type DirectoryFacts, HELPER_FILES } from './helper-protocol.ts';

export class Link {
  readonly client: ObjectsClient;
  readonly #finder: LeaderFinder;
  readonly #environment: PageEnvironment;
  readonly #storages = new Map<string, Promise<RemoteStorage>>();
  #worker: Worker | null = null;
  #isOver = false;
  #follows = false;

  /** `leads`: no worker of the app lives, so that the helper starts its own. */
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
    );
    this.#finder.standing.onStanding(() => this.#changed());
  }

  /** The worker that this was a way to leads no more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** True while a worker of the app leads. */
  get followsApp(): boolean {
    return this.#follows;
  }

  /** Resolves when it is connected. @throws as `connect` */
  async connect(): Promise<void> {
    await this.#finder.connection();
  }

  /** The classes that the worker serves; the helper's own tells none. */
  classes(): Promise<ClassList> {
    return this.client.classes();
  }

  /** The storage of an object, opened once. */
  storage(address: WireAddress): Promise<RemoteStorage> {
    const key = `${address.className}.${address.id}`;
    const known = this.#storages.get(key);
    if (known !== undefined) return known;
    const opening = this.#open(address);
    this.#storages.set(key, opening);
    opening.catch(() => this.#storages.delete(key));
    return opening;
  }

  /** The methods of an object, as its stub has them. */
  stub(address: WireAddress): Record<string, (...parameters: unknown[]) => Promise<unknown>> {
    const party = new Party(FREE, () => caller);
    const caller = new PartyCaller(party, this.client.carry);
    return createStub(fromWireAddress(address), caller) as never;
  }

  /** Ends it, and the helper's worker. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#finder.close(storageError('CONNECTION_CLOSED', 'The worker that led leads no more.'));
    this.#worker?.terminate();
  }

  async #open(address: WireAddress): Promise<RemoteStorage> {
    const name = address.name ?? address.id;
    const isPlain = address.className === null && address.name !== undefined;
    const { now } = this.#environment;
    const session = new Session(name, this.#finder, now, isPlain ? name : address);
    await session.open();
    return new RemoteStorage(session, this.#environment);
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
      // It has closed its files by now; left alone, it would wait to lead again.
      this.#worker?.terminate();
      return;
    }
    const wasFollowing = this.#follows && state !== 'following';
    if (wasFollowing || state === 'lost') this.end();
  }
}
