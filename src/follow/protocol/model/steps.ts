// Every step that can happen next in a world.
//
// Invariant: a step is one event, delivered to the real core, with all of its effects; or some of its effects, and a
// crash. Effects of one side commute with steps of the others, except that messages join a wire: an interleaving
// inside of the effects equals another one between events.
//
// Does not know which states were visited, nor the promises.

import { type FollowerEvent, stepFollower } from '../follower.ts';
import type { FollowServerEvent } from '../server.ts';
import {
  type Committed,
  copyLivesOf,
  deliver,
  endSlow,
  headOf,
  lifeAt,
  type Storage,
  startCloud,
} from './cloud.ts';
import type { Defects } from './defects.ts';
import { Broken, crashed } from './device.ts';
import type { Scenario } from './scenario.ts';
import { effectInWords, messageInWords } from './words.ts';
import {
  CLIENTS,
  type ClientIndex,
  departed,
  freeId,
  newWire,
  performed,
  spend,
  stored,
  type Wire,
  type World,
  withDevice,
  withWire,
} from './world.ts';

export interface ModelStep {
  /** In words, for a trace. */
  readonly name: () => string;
  /**
   * A fault spends the budget. `eager`: any run of other steps may as well come after it and leads to the same state, so
   * it alone need be taken.
   */
  readonly kind: 'free' | 'fault' | 'eager';
  /** @throws Broken */
  readonly next: () => World;
}

/** Everything that can happen next, in an order that depends on the world alone. */
export function stepsOf(world: World, scenario: Scenario, defects: Defects): ModelStep[] {
  return new Steps(world, scenario, defects).all();
}

class Steps {
  readonly #world: World;
  readonly #scenario: Scenario;
  readonly #defects: Defects;
  readonly #steps: ModelStep[] = [];

  constructor(world: World, scenario: Scenario, defects: Defects) {
    this.#world = world;
    this.#scenario = scenario;
    this.#defects = defects;
  }

  all(): ModelStep[] {
    this.#ofDevice(0);
    this.#ofDevice(1);
    this.#ofServer();
    this.#ofNetwork();
    return this.#steps;
  }

  // ---- Devices.

  /** Whether crashes, losses, repeats and delays can still happen here. */
  #isHit(client: ClientIndex): boolean {
    const { faultsAt } = this.#scenario;
    return faultsAt === null || faultsAt === CLIENTS[client];
  }

  /** No fault that is left reaches the device or its connection. */
  #isSafe(client: ClientIndex): boolean {
    const { crashes, losses, repeats, late, restarts, restores, dismissals } = this.#world.faults;
    const isServerSafe =
      restarts + restores === 0 && this.#scenario.calls.every(({ kind }) => kind !== 'fatal');
    const isHit = this.#isHit(client) && crashes + losses + repeats + late > 0;
    return isServerSafe && !isHit && dismissals === 0;
  }

  #ofDevice(client: ClientIndex): void {
    const world = this.#world;
    const { app, core } = world.devices[client];
    const name = CLIENTS[client];
    const calls = this.#scenario.calls.map((call, i) => ({ ...call, tag: `${call.by}${i + 1}` }));
    const call = calls.filter(({ by }) => by === name)[app.made];
    if (call !== undefined) {
      const isForecast = call.kind !== 'outside' && core.isForecasting;
      const event = {
        kind: 'called',
        call: { method: call.kind, args: call.tag, isForecast },
      } as const;
      this.#device(client, `${name} calls ${call.tag} (${call.kind})`, event, (before) =>
        withDevice(before, client, (device) => ({
          ...device,
          forecast: isForecast ? [...device.forecast, call.tag] : device.forecast,
          app: { ...device.app, made: app.made + 1 },
        })),
      );
    }
    for (const { n, tag } of world.faults.dismissals > 0 ? app.shown : []) {
      this.#device(
        client,
        `${name} dismisses the refusal of ${tag}`,
        { kind: 'dismissed', n },
        (before) => ({ ...before, faults: spend(before.faults, 'dismissals') }),
        'fault',
      );
    }
    const isPassive = this.#isSafe(client) && call === undefined;
    const wire = world.wires.find((wire) => wire.client === client && wire.isOpenAtDevice);
    if (core.link.kind === 'offline' && wire === undefined) {
      const id = freeId(world, client);
      this.#device(
        client,
        `${name} connects`,
        { kind: 'connected', connection: id },
        (before) => ({ ...before, wires: [...before.wires, newWire(id, client)] }),
        isPassive ? 'eager' : 'free',
      );
    }
    if (wire !== undefined) this.#ofWireAtDevice(wire, isPassive);
    const { late } = world;
    if (late?.client === client && core.link.kind !== 'offline') {
      const { connection, message } = late;
      this.#device(
        client,
        `${name} receives late: ${messageInWords(message)}`,
        { kind: 'received', connection, message },
        (before) => ({ ...before, late: null }),
      );
    }
    if (world.faults.crashes > 0 && this.#isHit(client))
      this.#crashes(client, world, () => `${name} crashes`);
  }

  #ofWireAtDevice(wire: Wire, isPassive: boolean): void {
    const { client, id: connection, down } = wire;
    const name = CLIENTS[client];
    const [message] = down;
    if (message !== undefined) {
      // On a connection that is cut, or that a side may close, its end may overtake the message.
      const isOnly = this.#world.wires.every((other) => other === wire || other.client !== client);
      const isEager = isPassive && isOnly && !wire.isCut && !wire.isRepeated;
      this.#device(
        client,
        `${name} receives ${messageInWords(message)}`,
        { kind: 'received', connection, message },
        (before) => withWire(before, connection, (its) => ({ ...its, down: its.down.slice(1) })),
        isEager ? 'eager' : 'free',
      );
    }
    if (!wire.isCut) return;
    const closed = (before: World) =>
      withWire(before, connection, (its) => ({ ...its, isOpenAtDevice: false, down: [] }));
    const event = { kind: 'disconnected', connection, isTaken: false } as const;
    this.#device(
      client,
      `${name} notices the end of its connection`,
      event,
      closed,
      isPassive && message === undefined ? 'eager' : 'free',
    );
    if (
      message !== undefined &&
      this.#isHit(client) &&
      this.#world.faults.late > 0 &&
      this.#world.late === null
    ) {
      this.#device(
        client,
        `${name} notices the end of its connection; ${messageInWords(message)} will be late`,
        event,
        (before) => ({
          ...closed(before),
          late: { client, connection, message },
          faults: spend(before.faults, 'late'),
        }),
        'fault',
      );
    }
  }

  /** An event with all of its effects; and with some of them, followed by a crash. */
  #device(
    client: ClientIndex,
    name: string,
    given: FollowerEvent,
    prepare: (world: World) => World = (world) => world,
    kind: ModelStep['kind'] = 'free',
  ): void {
    const { core } = this.#world.devices[client];
    const present = 'connection' in core.link ? core.link.connection : null;
    const event = this.#defects.followerEvent?.(given, present) ?? given;
    const { state, effects: all } = stepFollower(core, event);
    const effects = this.#defects.followerEffects?.(all) ?? all;
    this.#steps.push({
      name: () => name,
      kind,
      next: () => {
        const after = effects.reduce(
          (world, effect) => performed(world, client, effect),
          prepare(this.#world),
        );
        return withDevice(after, client, (device) => ({ ...device, core: state }));
      },
    });
    if (this.#world.faults.crashes === 0 || !this.#isHit(client)) return;
    let before = prepare(this.#world);
    for (const [i, effect] of effects.slice(0, -1).entries()) {
      const after = attempt(() => performed(before, client, effect));
      // The step without a crash fails in the same way, and is reported.
      if (after instanceof Broken) return;
      before = after;
      const done = effects.slice(0, i + 1);
      this.#crashes(
        client,
        before,
        () => `${name}; crash after ${done.map(effectInWords).join(', ')}`,
      );
    }
  }

  /** A crash for each state of the logs that it may leave. */
  #crashes(client: ClientIndex, before: World, name: () => string): void {
    const device = before.devices[client];
    for (const [b, base] of device.base.entries()) {
      for (const [q, stored] of device.queue.entries()) {
        const kept = () =>
          (b < device.base.length - 1 ? ', losing commits of the base' : '') +
          (q < device.queue.length - 1 ? ', losing commits of the queue' : '');
        this.#steps.push({
          name: () => `${name()}${kept()}`,
          kind: 'fault',
          next: () => {
            const after = withDevice(before, client, (its) => crashed(its, base, stored));
            const wires = after.wires.map((wire) =>
              wire.client === client && wire.isOpenAtDevice
                ? { ...wire, isCut: true, isOpenAtDevice: false, down: [] }
                : wire,
            );
            return { ...after, wires, faults: spend(after.faults, 'crashes') };
          },
        });
      }
    }
  }

  // ---- The server.

  #ofServer(): void {
    const { cloud, wires, faults, ghost } = this.#world;
    const head = headOf(cloud.storage);
    for (const wire of wires) if (wire.isOpenAtServer) this.#ofWireAtServer(wire);
    for (const [client, { run }] of cloud.core.clients) {
      if (run.kind === 'attempting') {
        this.#server(`the attempt of ${client}'s call is stored`, {
          kind: 'attemptStored',
          client,
          head,
        });
      }
    }
    for (const [client, rest] of cloud.slow) {
      this.#committed(`the second turn of ${rest.replace('+', '')} ends`, (before) => ({
        before,
        committed: endSlow(before.cloud, client, this.#scenario, this.#defects),
      }));
    }
    const restart = (name: string, storage: Storage, kind: 'restarts' | 'restores') =>
      this.#steps.push({
        name: () => name,
        kind: 'fault',
        next: () => this.#restarted(this.#world, storage, kind),
      });
    if (faults.restarts > 0) {
      restart('the server restarts', cloud.storage, 'restarts');
      this.#hibernation();
    }
    if (faults.restores > 0) {
      for (const storage of ghost.commits) {
        if (storage === cloud.storage) continue;
        restart(`the server is restored to ${storage.notes.length} notes`, storage, 'restores');
      }
    }
  }

  #ofWireAtServer(wire: Wire): void {
    const { storage } = this.#world.cloud;
    const head = headOf(storage);
    const { id: connection } = wire;
    const name = CLIENTS[wire.client];
    const [message] = wire.up;
    if (message !== undefined) {
      const prepare = (before: World) =>
        withWire(before, connection, (its) => ({ ...its, up: its.up.slice(1) }));
      const text = `the server receives from ${name}: ${messageInWords(message)}`;
      if (message.kind === 'call') {
        this.#server(text, { kind: 'call', connection, message, head }, prepare);
      } else if (message.kind === 'next') {
        const copyLives = copyLivesOf(storage, message.copy);
        this.#server(text, { kind: 'next', connection, message, copyLives, head }, prepare);
      } else {
        const { client, position, copy } = message;
        const lifeThere = position === null ? null : lifeAt(storage.notes, position.id);
        const record = storage.records.get(client) ?? null;
        const copyLives = copyLivesOf(storage, copy);
        const facts = { record, lifeThere, copyLives, canSnapshot: true, head };
        const event = { kind: 'hello', connection, message, ...facts } as const;
        this.#server(text, event, prepare);
      }
    }
    if (!wire.isCut) return;
    this.#server(
      `the server notices the end of ${name}'s connection`,
      { kind: 'closed', connection, head },
      (before) =>
        withWire(before, connection, (its) => ({ ...its, isOpenAtServer: false, up: [] })),
      // Nothing else comes from it, and nothing more reaches it.
      message === undefined ? 'eager' : 'free',
    );
  }

  #server(
    name: string,
    event: FollowServerEvent,
    prepare: (world: World) => World = (world) => world,
    kind: ModelStep['kind'] = 'free',
  ): void {
    const delivered = (world: World) => {
      const before = prepare(world);
      const committed = deliver(before.cloud, event, this.#scenario, this.#defects);
      return { before, committed };
    };
    this.#committed(name, delivered, kind);
  }

  /** A transaction and its messages; and some of these, followed by a restart. */
  #committed(
    name: string,
    deliverIn: (world: World) => { before: World; committed: Committed | null },
    kind: ModelStep['kind'] = 'free',
  ): void {
    const delivered = attempt(() => deliverIn(this.#world));
    if (delivered instanceof Broken) {
      const next = () => {
        throw delivered;
      };
      this.#steps.push({ name: () => name, kind: 'free', next });
      return;
    }
    const { before, committed } = delivered;
    this.#steps.push({
      name: () => (committed === null ? `${name}, and ends` : name),
      kind,
      next: () => {
        if (committed === null) return this.#restarted(before, before.cloud.storage, null);
        return committed.departures.reduce(departed, stored(before, committed.cloud));
      },
    });
    if (committed === null) return;
    const { departures } = committed;
    const faults = (['restarts', 'restores'] as const).filter((fault) => before.faults[fault] > 0);
    for (const fault of faults) {
      if (this.#defects.sendsBeforeCommit) {
        this.#steps.push({
          name: () => `${name}; the server restarts before the commit, after its messages left`,
          kind: 'fault',
          next: () => {
            const sent = departures.reduce(departed, { ...before, cloud: committed.cloud });
            return this.#restarted({ ...sent, cloud: before.cloud }, before.cloud.storage, fault);
          },
        });
      }
      // After the last message, a restart is a step of its own.
      for (let count = 0; count < departures.length; count++) {
        const after = stored(before, committed.cloud);
        const targets = fault === 'restarts' ? [committed.cloud.storage] : before.ghost.commits;
        for (const storage of targets) {
          this.#steps.push({
            name: () =>
              `${name}; the server restarts with ${storage.notes.length} notes, after ${count} of ${departures.length} messages`,
            kind: 'fault',
            next: () =>
              this.#restarted(departures.slice(0, count).reduce(departed, after), storage, fault),
          });
        }
      }
    }
  }

  #restarted(world: World, storage: Storage, kind: 'restarts' | 'restores' | null): World {
    const { cloud } = startCloud(storage, world.cloud.life + 1, new Map(), this.#defects);
    const wires = world.wires.map((wire) =>
      wire.isOpenAtServer ? { ...wire, isCut: true, isOpenAtServer: false, up: [] } : wire,
    );
    const past = kind === 'restores' ? world.cloud.storage.notes : world.ghost.past;
    const after = stored({ ...world, ghost: { ...world.ghost, past }, wires }, cloud);
    return kind === null ? after : { ...after, faults: spend(after.faults, kind) };
  }

  /** An idle instance leaves memory; its connections stay. */
  #hibernation(): void {
    const { core, storage, life } = this.#world.cloud;
    const isIdle = [...core.clients.values()].every(({ run }) => run.kind === 'idle');
    if (!isIdle || core.connections.size === 0) return;
    this.#steps.push({
      name: () => 'the server hibernates',
      kind: 'fault',
      next: () => {
        const committed = startCloud(storage, life + 1, core.connections, this.#defects);
        const faults = spend(this.#world.faults, 'restarts');
        const woken = stored({ ...this.#world, faults }, committed.cloud);
        return committed.departures.reduce(departed, woken);
      },
    });
  }

  // ---- The network.

  #ofNetwork(): void {
    const { wires, faults } = this.#world;
    for (const wire of wires) {
      const name = CLIENTS[wire.client];
      if (!this.#isHit(wire.client)) continue;
      if (faults.losses > 0 && !wire.isCut) {
        this.#network(`${name}'s connection breaks`, 'losses', wire.id, (its) => ({
          ...its,
          isCut: true,
        }));
      }
      if (faults.repeats === 0) continue;
      const [up, down] = [wire.up[0], wire.down[0]];
      for (const other of wires) {
        if (up === undefined || other.client !== wire.client || other.isCut) continue;
        const where = other === wire ? '' : ' on the next connection';
        this.#network(
          `${messageInWords(up)} of ${name} is repeated${where}`,
          'repeats',
          other.id,
          (its) => ({
            ...its,
            isRepeated: true,
            up: [...its.up, up],
          }),
        );
      }
      if (down !== undefined && !wire.isCut) {
        this.#network(
          `${messageInWords(down)} to ${name} is repeated`,
          'repeats',
          wire.id,
          (its) => ({
            ...its,
            isRepeated: true,
            down: [...its.down, down],
          }),
        );
      }
    }
  }

  #network(
    name: string,
    kind: 'losses' | 'repeats',
    connection: number,
    change: (wire: Wire) => Wire,
  ): void {
    this.#steps.push({
      name: () => name,
      kind: 'fault',
      next: () => {
        const changed = withWire(this.#world, connection, change);
        return { ...changed, faults: spend(changed.faults, kind) };
      },
    });
  }
}

function attempt<T>(action: () => T): T | Broken {
  try {
    return action();
  } catch (error) {
    if (error instanceof Broken) return error;
    throw error;
  }
}
