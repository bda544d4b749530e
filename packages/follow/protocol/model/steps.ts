// Lists every step that can happen next in a world.
//
// Invariant: a step is one event, delivered to the real protocol code, with all of its effects; or with some of its
// effects, followed by a crash. It suffices to interleave whole events: the effects of one side touch nothing of the
// other sides, except that messages join a wire.
//
// This file does not know which states were visited, nor the promises.

import type { FollowerEvent } from '../follower.ts';
import type { CloudEvent, Storage } from './cloud.ts';
import type { Defects } from './defects.ts';
import { Broken, withFilesOf } from './device.ts';
import { hostileActs, newHostileEnds } from './hostile.ts';
import { hostileIndex } from './hostile-names.ts';
import type { Scenario } from './scenario.ts';
import type { CloudTurn, Crash, Turns } from './turns.ts';
import { messageInWords } from './words.ts';
import {
  CLIENTS,
  type ClientIndex,
  newWire,
  sentDown,
  sentUp,
  unusedConnection,
  type Wire,
  type World,
  withCommit,
  withDevice,
  withOneFaultLess,
  withWire,
} from './world.ts';

export interface ModelStep {
  /** Describes the step, for a trace. */
  readonly name: () => string;
  /**
   * `fault`: the step uses up one of the allowed faults. `eager`: taking it before all other steps reaches the same states
   * as taking it later, so the walk takes it alone.
   */
  readonly kind: 'free' | 'fault' | 'eager';
  /** Returns the world after the step. @throws Broken if a promise does not hold */
  readonly next: () => World;
}

type StepDefects = Pick<Defects, 'sendsBeforeCommit'>;

/** Returns every step that can happen next, in an order that depends only on the world. */
export function stepsOf(
  world: World,
  scenario: Scenario,
  turns: Turns,
  defects: StepDefects = {},
): ModelStep[] {
  return new Steps(world, scenario, turns, defects).list();
}

/** True if crashes, losses, repeats and delays may happen to this device and its connection. */
export function canFaultsHit({ faultsAt }: Scenario, client: ClientIndex): boolean {
  return faultsAt === null || faultsAt === CLIENTS[client];
}

/** The name of a device's step, and the parts of the world besides the device that the step changes. */
interface StepOfDevice {
  readonly name: () => string;
  readonly prepare?: (world: World) => World;
  readonly kind?: ModelStep['kind'];
}

/** Closes the device's end of its connections, because its process has ended. */
function withClosedEnd(world: World, client: ClientIndex): World {
  const wires = world.wires.map((wire) =>
    wire.client === client && wire.isOpenAtDevice
      ? { ...wire, isCut: true, isOpenAtDevice: false, down: [] }
      : wire,
  );
  return { ...world, wires };
}

/** True if the server closes the connection of a device. */
function isEndOfDevice({ connection, message }: CloudTurn['sent'][number]): boolean {
  return message === null && hostileIndex(connection) === null;
}

class Steps {
  readonly #world: World;
  readonly #scenario: Scenario;
  readonly #turns: Turns;
  readonly #defects: StepDefects;
  readonly #steps: ModelStep[] = [];

  constructor(world: World, scenario: Scenario, turns: Turns, defects: StepDefects) {
    this.#world = world;
    this.#scenario = scenario;
    this.#turns = turns;
    this.#defects = defects;
  }

  list(): ModelStep[] {
    this.#addDeviceSteps(0);
    this.#addDeviceSteps(1);
    this.#addServerSteps();
    this.#addNetworkFaults();
    this.#addHostileActs();
    return this.#steps;
  }

  // ---- Devices.

  /** True if none of the remaining faults can reach the device or its connection. */
  #isFaultFree(client: ClientIndex): boolean {
    const { crashes, losses, repeats, late, copies, restarts, restores, dismissals } =
      this.#world.faults;
    const { calls, hostile } = this.#scenario;
    const kinds = [...calls.map(({ kind }) => kind), ...(hostile?.kinds ?? [])];
    const isServerSafe = restarts + restores === 0 && !kinds.includes('fatal');
    const isReached =
      canFaultsHit(this.#scenario, client) && crashes + losses + repeats + late + copies > 0;
    return isServerSafe && !isReached && dismissals === 0;
  }

  #canCrash(client: ClientIndex): boolean {
    return this.#world.faults.crashes > 0 && canFaultsHit(this.#scenario, client);
  }

  #addDeviceSteps(client: ClientIndex): void {
    const world = this.#world;
    const { app, core } = world.devices[client];
    const name = CLIENTS[client];
    const call = this.#scenario.script[client][app.made];
    if (call !== undefined) {
      const { kind: method, tag: args } = call;
      const isForecast = method !== 'outside' && core.isForecasting;
      const mark = Number(args.slice(1));
      const made = { mark, method, args, bytes: 0, isForecast };
      const event = { kind: 'called', call: made, retried: null } as const;
      this.#addEventAtDevice(client, event, { name: () => `${name} calls ${args} (${method})` });
    }
    for (const { n, tag } of world.faults.dismissals > 0 ? app.shown : []) {
      this.#addEventAtDevice(
        client,
        { kind: 'dismissed', n },
        {
          name: () => `${name} dismisses the refusal of ${tag}`,
          prepare: (before) => ({
            ...before,
            faults: withOneFaultLess(before.faults, 'dismissals'),
          }),
          kind: 'fault',
        },
      );
    }
    const onlyReacts = this.#isFaultFree(client) && call === undefined;
    const wire = world.wires.find((wire) => wire.client === client && wire.isOpenAtDevice);
    if (core.link.kind === 'offline' && wire === undefined) {
      const id = unusedConnection(world, client);
      this.#addEventAtDevice(
        client,
        { kind: 'connected', connection: id },
        {
          name: () => `${name} connects`,
          prepare: (before) => ({ ...before, wires: [...before.wires, newWire(id, client)] }),
          kind: onlyReacts ? 'eager' : 'free',
        },
      );
    }
    if (wire !== undefined) this.#addWireStepsOfDevice(wire, onlyReacts);
    const { late } = world;
    if (late?.client === client && core.link.kind !== 'offline') {
      const { connection, message } = late;
      this.#addEventAtDevice(
        client,
        { kind: 'received', connection, message },
        {
          name: () => `${name} receives late: ${messageInWords(message)}`,
          prepare: (before) => ({ ...before, late: null }),
        },
      );
    }
    this.#addCopies(client);
    if (!this.#canCrash(client)) return;
    for (const crash of this.#turns.crashesBetweenEvents(world.devices[client])) {
      this.#addCrash(client, world, crash, () => `${name} crashes`);
    }
  }

  /** Adds the step that copies the files of a device, and the step in which the copy replaces the device's files. */
  #addCopies(client: ClientIndex): void {
    const world = this.#world;
    const { copied } = world.ghost;
    const name = CLIENTS[client];
    if (world.faults.copies === 0 || !canFaultsHit(this.#scenario, client)) return;
    if (copied === null) {
      const ghost = { ...world.ghost, copied: { client, device: world.devices[client] } };
      this.#steps.push({
        name: () => `the files of ${name} are copied`,
        kind: 'free',
        next: () => ({ ...world, ghost }),
      });
    } else if (copied.client === client) {
      this.#steps.push({
        name: () => `${name} gets its copied files back`,
        kind: 'fault',
        next: () => {
          const device = withFilesOf(copied.device, world.devices[client]);
          const after = withClosedEnd(withDevice(world, client, device), client);
          const ghost = { ...after.ghost, copied: null };
          return { ...after, ghost, faults: withOneFaultLess(after.faults, 'copies') };
        },
      });
    }
  }

  #addWireStepsOfDevice(wire: Wire, onlyReacts: boolean): void {
    const { client, id: connection, down } = wire;
    const name = CLIENTS[client];
    const [message] = down;
    if (message !== undefined) {
      // If the connection is cut or may be closed, the end of the connection may overtake the message.
      const isOnlyWire = this.#world.wires.every(
        (other) => other === wire || other.client !== client,
      );
      const isEager = onlyReacts && isOnlyWire && !wire.isCut && !wire.isRepeated;
      this.#addEventAtDevice(
        client,
        { kind: 'received', connection, message },
        {
          name: () => `${name} receives ${messageInWords(message)}`,
          prepare: (before) =>
            withWire(before, connection, (its) => ({ ...its, down: its.down.slice(1) })),
          kind: isEager ? 'eager' : 'free',
        },
      );
    }
    if (!wire.isCut) return;
    const closed = (before: World) =>
      withWire(before, connection, (its) => ({ ...its, isOpenAtDevice: false, down: [] }));
    const event = { kind: 'disconnected', connection, isClientTaken: false } as const;
    this.#addEventAtDevice(client, event, {
      name: () => `${name} notices the end of its connection`,
      prepare: closed,
      kind: onlyReacts && message === undefined ? 'eager' : 'free',
    });
    const { faults, late } = this.#world;
    const canBeLate = canFaultsHit(this.#scenario, client) && faults.late > 0 && late === null;
    if (message === undefined || !canBeLate) return;
    this.#addEventAtDevice(client, event, {
      name: () =>
        `${name} notices the end of its connection; ${messageInWords(message)} will be late`,
      prepare: (before) => ({
        ...closed(before),
        late: { client, connection, message },
        faults: withOneFaultLess(before.faults, 'late'),
      }),
      kind: 'fault',
    });
  }

  /**
   * Adds the steps of an event at a device: one step with all of the event's effects, and one step for each crash
   * between two effects.
   */
  #addEventAtDevice(
    client: ClientIndex,
    event: FollowerEvent,
    { name, prepare = (world) => world, kind = 'free' }: StepOfDevice,
  ): void {
    const turn = this.#turns.deviceTurn(this.#world.devices[client], event);
    if (turn instanceof Broken) {
      this.#addBrokenStep(name, turn);
      return;
    }
    this.#steps.push({
      name,
      kind,
      next: () => turn.sent.reduce(sentUp, withDevice(prepare(this.#world), client, turn.device)),
    });
    if (!this.#canCrash(client)) return;
    for (const crash of turn.crashes()) {
      this.#addCrash(client, this.#world, crash, () => `${name()}; crash`, prepare);
    }
  }

  #addCrash(
    client: ClientIndex,
    world: World,
    { device, sent, inWords }: Crash,
    name: () => string,
    prepare: (world: World) => World = (before) => before,
  ): void {
    this.#steps.push({
      name: () => name() + inWords(),
      kind: 'fault',
      next: () => {
        const sentAll = sent.reduce(sentUp, withDevice(prepare(world), client, device));
        const after = withClosedEnd(sentAll, client);
        return { ...after, faults: withOneFaultLess(after.faults, 'crashes') };
      },
    });
  }

  // ---- The server.

  #addServerSteps(): void {
    const { cloud, wires, faults, ghost } = this.#world;
    for (const wire of wires) if (wire.isOpenAtServer) this.#addWireStepsOfServer(wire);
    for (const [client, { run }] of cloud.core.clients) {
      if (run.kind !== 'attempting') continue;
      const name = () => `the attempt of ${client}'s call is stored`;
      this.#addEventAtServer({ kind: 'attemptStored', client }, name);
    }
    for (const [client, rest] of cloud.betweenTurns) {
      const name = () => `the second turn of ${rest.replace('+', '')} ends`;
      this.#addEventAtServer({ kind: 'slowEnds', client }, name);
    }
    const restart = (name: string, storage: Storage, kind: 'restarts' | 'restores') =>
      this.#steps.push({
        name: () => name,
        kind: 'fault',
        next: () => this.#restarted(this.#world, storage, kind),
      });
    if (faults.restarts > 0) {
      restart('the server restarts', cloud.storage, 'restarts');
      this.#addHibernation();
    }
    if (faults.restores > 0) {
      for (const storage of ghost.commits) {
        if (storage === cloud.storage) continue;
        restart(`the server is restored to ${storage.notes.length} notes`, storage, 'restores');
      }
    }
  }

  #addWireStepsOfServer(wire: Wire): void {
    const { id: connection } = wire;
    const name = CLIENTS[wire.client];
    const [message] = wire.up;
    if (message !== undefined) {
      this.#addEventAtServer(
        { kind: 'received', connection, message },
        () => `the server receives from ${name}: ${messageInWords(message)}`,
        (before) => withWire(before, connection, (its) => ({ ...its, up: its.up.slice(1) })),
      );
    }
    if (!wire.isCut) return;
    this.#addEventAtServer(
      { kind: 'closed', connection },
      () => `the server notices the end of ${name}'s connection`,
      (before) =>
        withWire(before, connection, (its) => ({ ...its, isOpenAtServer: false, up: [] })),
      // Without a message under way, the order of this step and others makes no difference.
      message === undefined ? 'eager' : 'free',
    );
  }

  /**
   * Adds the steps of an event at the server: one step with all of its messages, and others with a restart between two
   * messages.
   */
  #addEventAtServer(
    event: CloudEvent,
    name: () => string,
    prepare: (world: World) => World = (world) => world,
    kind: ModelStep['kind'] = 'free',
  ): void {
    const turn = this.#turns.serverTurn(this.#world.cloud, event);
    if (turn instanceof Broken) {
      this.#addBrokenStep(name, turn);
      return;
    }
    this.#steps.push({
      name: () => (turn === null ? `${name()}, and ends` : name()),
      kind,
      next: () => {
        const before = prepare(this.#world);
        if (turn === null) return this.#restarted(before, before.cloud.storage, null);
        return turn.sent.reduce(sentDown, withCommit(before, turn.cloud));
      },
    });
    if (turn === null) return;
    const { faults } = this.#world;
    for (const fault of ['restarts', 'restores'] as const) {
      if (faults[fault] > 0) this.#addRestartsWhileSending(turn, fault, name, prepare);
    }
  }

  #addRestartsWhileSending(
    { cloud, sent }: CloudTurn,
    fault: 'restarts' | 'restores',
    name: () => string,
    prepare: (world: World) => World,
  ): void {
    if (this.#defects.sendsBeforeCommit) {
      this.#steps.push({
        name: () => `${name()}; the server restarts before the commit, after its messages left`,
        kind: 'fault',
        next: () => {
          const before = prepare(this.#world);
          const after = sent.reduce(sentDown, { ...before, cloud });
          return this.#restarted({ ...after, cloud: before.cloud }, before.cloud.storage, fault);
        },
      });
    }
    // A restart after the last message is a step of its own, in `#addServerSteps`.
    for (let count = 0; count < sent.length; count++) {
      const targets = fault === 'restarts' ? [cloud.storage] : this.#world.ghost.commits;
      for (const storage of targets) {
        this.#steps.push({
          name: () =>
            `${name()}; the server restarts with ${storage.notes.length} notes, after ${count} of ${sent.length} messages`,
          kind: 'fault',
          next: () => {
            const after = withCommit(prepare(this.#world), cloud);
            return this.#restarted(sent.slice(0, count).reduce(sentDown, after), storage, fault);
          },
        });
      }
    }
  }

  #restarted(world: World, storage: Storage, kind: 'restarts' | 'restores' | null): World {
    const wires = world.wires.map((wire) =>
      wire.isOpenAtServer ? { ...wire, isCut: true, isOpenAtServer: false, up: [] } : wire,
    );
    const notesBeforeRestore =
      kind === 'restores' ? world.cloud.storage.notes : world.ghost.notesBeforeRestore;
    const started = this.#afterInstanceEnd(world, { kind: 'starts', storage });
    const hostile = newHostileEnds(this.#scenario.hostile);
    const after = withCommit(
      { ...world, ghost: { ...world.ghost, notesBeforeRestore }, wires, hostile },
      started.cloud,
    );
    return kind === null ? after : { ...after, faults: withOneFaultLess(after.faults, kind) };
  }

  #addHibernation(): void {
    const { core } = this.#world.cloud;
    const isIdle = [...core.clients.values()].every(({ run }) => run.kind === 'idle');
    if (!isIdle || core.connections.size === 0) return;
    this.#steps.push({
      name: () => 'the server hibernates',
      kind: 'fault',
      next: () => {
        const { cloud, sent } = this.#afterInstanceEnd(this.#world, { kind: 'hibernates' });
        const faults = withOneFaultLess(this.#world.faults, 'restarts');
        return sent.reduce(sentDown, withCommit({ ...this.#world, faults }, cloud));
      },
    });
  }

  /** Returns the server after an instance has ended and the next one has started. */
  #afterInstanceEnd({ cloud }: World, event: CloudEvent): CloudTurn {
    const turn = this.#turns.serverTurn(cloud, event);
    if (turn instanceof Broken) throw turn;
    return turn!;
  }

  // ---- The network.

  #addNetworkFaults(): void {
    const { wires, faults } = this.#world;
    for (const wire of wires) {
      const name = CLIENTS[wire.client];
      if (!canFaultsHit(this.#scenario, wire.client)) continue;
      if (faults.losses > 0 && !wire.isCut) {
        this.#addNetworkFault(
          () => `${name}'s connection breaks`,
          'losses',
          wire.id,
          (its) => ({ ...its, isCut: true }),
        );
      }
      if (faults.repeats === 0) continue;
      const [up, down] = [wire.up[0], wire.down[0]];
      for (const other of wires) {
        if (up === undefined || other.client !== wire.client || other.isCut) continue;
        const where = other === wire ? '' : ' on the next connection';
        this.#addNetworkFault(
          () => `${messageInWords(up)} of ${name} is repeated${where}`,
          'repeats',
          other.id,
          (its) => ({ ...its, isRepeated: true, up: [...its.up, up] }),
        );
      }
      if (down !== undefined && !wire.isCut) {
        this.#addNetworkFault(
          () => `${messageInWords(down)} to ${name} is repeated`,
          'repeats',
          wire.id,
          (its) => ({ ...its, isRepeated: true, down: [...its.down, down] }),
        );
      }
    }
  }

  #addNetworkFault(
    name: () => string,
    kind: 'losses' | 'repeats',
    connection: number,
    change: (wire: Wire) => Wire,
  ): void {
    this.#steps.push({
      name,
      kind: 'fault',
      next: () => {
        const changed = withWire(this.#world, connection, change);
        return { ...changed, faults: withOneFaultLess(changed.faults, kind) };
      },
    });
  }

  // ---- The hostile follower.

  #addHostileActs(): void {
    const { cloud, hostile, faults } = this.#world;
    const { hostile: follower } = this.#scenario;
    if (follower === null || faults.hostile === 0) return;
    for (const { event, isReading } of hostileActs(hostile, cloud, follower)) {
      const { connection } = event;
      const said = event.kind === 'received' ? messageInWords(event.message) : 'no message at all';
      const name = () => `the hostile follower says on ${connection}: ${said}`;
      const turn = this.#turns.serverTurn(cloud, event);
      const closed = turn === null || turn instanceof Broken ? [] : turn.sent.filter(isEndOfDevice);
      if (closed.length > 0) {
        const broken = new Broken(
          'a message of the hostile follower closes the connection of another',
        );
        this.#addBrokenStep(name, broken);
        continue;
      }
      const index = hostileIndex(connection);
      const prepare = (before: World) => ({
        ...before,
        faults: withOneFaultLess(before.faults, 'hostile'),
        hostile: before.hostile.map((end, i) =>
          isReading && i === index ? { ...end, unread: [] } : end,
        ),
      });
      this.#addEventAtServer(event, name, prepare, 'fault');
    }
  }

  #addBrokenStep(name: () => string, broken: Broken): void {
    const next = () => {
      throw broken;
    };
    this.#steps.push({ name, kind: 'free', next });
  }
}
