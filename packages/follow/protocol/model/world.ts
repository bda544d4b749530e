// The state of the whole model: two devices, the server, and the connections between them; and the functions that change
// it.
//
// Invariant: a world is plain, immutable data. Every function returns a changed copy.
//
// This file does not know which steps can come next (steps.ts).

import type { MessageToFollower, MessageToServer } from '../messages.ts';
import { type Cloud, type Departure, type Storage, startCloud } from './cloud.ts';
import type { Defects } from './defects.ts';
import { type Device, newDevice } from './device.ts';
import { type HostileEnd, receivedBy } from './hostile.ts';
import { hostileIndex } from './hostile-names.ts';
import type { FaultBudget } from './scenario.ts';

export const CLIENTS = ['A', 'B'] as const;
export type ClientIndex = 0 | 1;

/** A connection, which carries messages in order in both directions. It is removed when both of its ends are closed. */
export interface Wire {
  readonly id: number;
  readonly client: ClientIndex;
  readonly up: readonly MessageToServer[];
  readonly down: readonly MessageToFollower[];
  /** True once the connection is broken: it takes no new messages, but those under way may still arrive. */
  readonly isCut: boolean;
  readonly isOpenAtDevice: boolean;
  readonly isOpenAtServer: boolean;
  /** True if the connection has carried a repeated message, for which either side may close it. */
  readonly isRepeated: boolean;
}

/** A message of a lost connection that arrives after the next connection was made. */
export interface LateMessage {
  readonly client: ClientIndex;
  readonly connection: number;
  readonly message: MessageToFollower;
}

/** History that neither side of the protocol knows; the model needs it to restore the server and to check promises. */
export interface Ghost {
  /** The earlier commits of the server, stored as long as a restore to one of them may come. */
  readonly commits: readonly Storage[];
  /** The server's notes at the time of the restore, which removed some of them. */
  readonly notesBeforeRestore: readonly string[];
  /** A device whose files were copied, in its state at that time; null if no files were copied. */
  readonly copied: CopiedDevice | null;
}

export interface CopiedDevice {
  readonly client: ClientIndex;
  readonly device: Device;
}

export interface World {
  readonly devices: readonly [Device, Device];
  readonly cloud: Cloud;
  readonly wires: readonly Wire[];
  readonly late: LateMessage | null;
  readonly faults: FaultBudget;
  readonly ghost: Ghost;
  /** The connections of the hostile follower. */
  readonly hostile: readonly HostileEnd[];
}

export function newWorld(faults: FaultBudget, defects: Defects): World {
  const storage: Storage = { notes: [], clients: new Map() };
  return {
    devices: [newDevice('A'), newDevice('B')],
    cloud: startCloud(storage, 1, new Map(), defects).cloud,
    wires: [],
    late: null,
    faults,
    ghost: { commits: [storage], notesBeforeRestore: [], copied: null },
    hostile: [],
  };
}

/** Puts a device's message on its wire, or closes the device's end. */
export function sentUp(world: World, { connection, message }: Departure<MessageToServer>): World {
  return withWire(world, connection, (wire) => {
    if (message === null) return { ...wire, isCut: true, isOpenAtDevice: false, down: [] };
    return wire.isCut ? wire : { ...wire, up: [...wire.up, message] };
  });
}

/** Puts a message of the server on a wire, or closes the server's end. */
export function sentDown(world: World, departure: Departure<MessageToFollower>): World {
  const { connection, message } = departure;
  const index = hostileIndex(connection);
  if (index !== null) {
    const hostile = world.hostile.map((end, i) => (i === index ? receivedBy(end, departure) : end));
    return { ...world, hostile };
  }
  return withWire(world, connection, (wire) => {
    if (message === null) return { ...wire, isCut: true, isOpenAtServer: false, up: [] };
    return wire.isCut ? wire : { ...wire, down: [...wire.down, message] };
  });
}

/** Replaces the server's state, and keeps its commit if a restore may still come. */
export function withCommit(world: World, cloud: Cloud): World {
  const { commits } = world.ghost;
  const isKept = world.faults.restores > 0 && commits.at(-1) !== cloud.storage;
  return {
    ...world,
    cloud,
    ghost: { ...world.ghost, commits: isKept ? [...commits, cloud.storage] : commits },
  };
}

export function withOneFaultLess(faults: FaultBudget, kind: keyof FaultBudget): FaultBudget {
  return { ...faults, [kind]: faults[kind] - 1 };
}

/** Returns the client's smallest unused connection number. Reusing numbers keeps worlds equal that differ only in past connections. */
export function unusedConnection({ wires, late }: World, client: ClientIndex): number {
  let id: number = client;
  while (late?.connection === id || wires.some((wire) => wire.id === id)) id += CLIENTS.length;
  return id;
}

export function newWire(id: number, client: ClientIndex): Wire {
  const empty = { up: [], down: [] };
  return {
    id,
    client,
    ...empty,
    isCut: false,
    isRepeated: false,
    isOpenAtDevice: true,
    isOpenAtServer: true,
  };
}

export function withDevice(world: World, client: ClientIndex, device: Device): World {
  const [a, b] = world.devices;
  return { ...world, devices: client === 0 ? [device, b] : [a, device] };
}

export function withWire(world: World, id: number, change: (wire: Wire) => Wire): World {
  return { ...world, wires: world.wires.map((wire) => (wire.id === id ? change(wire) : wire)) };
}
