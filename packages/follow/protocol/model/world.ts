// The state of everything in the model: two devices, the server, the connections between them; and how effects change
// it.
//
// Invariant: a world is plain data, and every function of it returns another one.
//
// Does not know the next steps.

import type { MessageToFollower, MessageToServer } from '../messages.ts';
import { type Cloud, type Departure, type Storage, startCloud } from './cloud.ts';
import type { Defects } from './defects.ts';
import { type Device, newDevice } from './device.ts';
import type { FaultBudget } from './scenario.ts';

export const CLIENTS = ['A', 'B'] as const;
export type ClientIndex = 0 | 1;

/** A connection: two channels in order. It is gone when neither end is open and nothing of it is late. */
export interface Wire {
  readonly id: number;
  readonly client: ClientIndex;
  readonly up: readonly MessageToServer[];
  readonly down: readonly MessageToFollower[];
  /** Nothing new is carried; messages under way may still arrive. */
  readonly isCut: boolean;
  readonly isOpenAtDevice: boolean;
  readonly isOpenAtServer: boolean;
  /** It has carried a repeated message, for which a side may close it. */
  readonly isRepeated: boolean;
}

export interface LateMessage {
  readonly client: ClientIndex;
  readonly connection: number;
  readonly message: MessageToFollower;
}

/** Facts that no side of the protocol knows. */
export interface Ghost {
  /** The commits of the server, while one of them may be restored. */
  readonly commits: readonly Storage[];
  /** Notes before the restore. */
  readonly past: readonly string[];
}

export interface World {
  readonly devices: readonly [Device, Device];
  readonly cloud: Cloud;
  readonly wires: readonly Wire[];
  readonly late: LateMessage | null;
  readonly faults: FaultBudget;
  readonly ghost: Ghost;
}

export function newWorld(faults: FaultBudget, defects: Defects): World {
  const storage: Storage = { notes: [], records: new Map() };
  return {
    devices: [newDevice('A'), newDevice('B')],
    cloud: startCloud(storage, 1, new Map(), defects).cloud,
    wires: [],
    late: null,
    faults,
    ghost: { commits: [storage], past: [] },
  };
}

/** Messages of a device go up its wires, and its end of a wire may close. */
export function sentUp(world: World, { connection, message }: Departure<MessageToServer>): World {
  return withWire(world, connection, (wire) => {
    if (message === null) return { ...wire, isCut: true, isOpenAtDevice: false, down: [] };
    return wire.isCut ? wire : { ...wire, up: [...wire.up, message] };
  });
}

export function sentDown(
  world: World,
  { connection, message }: Departure<MessageToFollower>,
): World {
  return withWire(world, connection, (wire) => {
    if (message === null) return { ...wire, isCut: true, isOpenAtServer: false, up: [] };
    return wire.isCut ? wire : { ...wire, down: [...wire.down, message] };
  });
}

export function stored(world: World, cloud: Cloud): World {
  const { commits, past } = world.ghost;
  const isKept = world.faults.restores > 0 && commits.at(-1) !== cloud.storage;
  return {
    ...world,
    cloud,
    ghost: { past, commits: isKept ? [...commits, cloud.storage] : commits },
  };
}

export function spend(faults: FaultBudget, kind: keyof FaultBudget): FaultBudget {
  return { ...faults, [kind]: faults[kind] - 1 };
}

/** The smallest number of this client that nothing refers to: a world does not tell how many connections there were. */
export function freeId({ wires, late }: World, client: ClientIndex): number {
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
