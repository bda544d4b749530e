// The turns of each side of a world: an event and its effects. Each is computed once, because far fewer states of a side
// occur than states of a world.
//
// Invariant: devices, clouds and messages of turns are the instances of `Parts`.
//
// Does not know wires, which carry the messages, nor the budget of faults.

import { type FollowerEffect, type FollowerEvent, stepFollower } from '../follower.ts';
import type { MessageToFollower, MessageToServer } from '../messages.ts';
import { type Cloud, type CloudEvent, type Departure, deliver } from './cloud.ts';
import type { Defects } from './defects.ts';
import { Broken, begun, crashed, type Device, perform } from './device.ts';
import type { Parts } from './parts.ts';
import type { Scenario } from './scenario.ts';
import { effectInWords } from './words.ts';

/** An event with all of its effects. */
export interface DeviceTurn {
  readonly device: Device;
  readonly sent: readonly Departure<MessageToServer>[];
  /** With some of them, followed by a crash. */
  readonly crashes: () => readonly Crash[];
}

/** A device after a crash, for one of the states of its logs that this may leave. */
export interface Crash {
  readonly device: Device;
  /** Before it. */
  readonly sent: readonly Departure<MessageToServer>[];
  readonly inWords: () => string;
}

export interface CloudTurn {
  readonly cloud: Cloud;
  readonly sent: readonly Departure<MessageToFollower>[];
}

export class Turns {
  readonly #scenario: Scenario;
  readonly #defects: Defects;
  readonly #parts: Parts;
  readonly #ofDevices = new Map<Device, Map<string, DeviceTurn | Broken>>();
  readonly #ofClouds = new Map<Cloud, Map<string, CloudTurn | Broken | null>>();
  readonly #crashes = new Map<Device, readonly Crash[]>();
  readonly #settled = new Map<Device, Device>();

  constructor(scenario: Scenario, defects: Defects, parts: Parts) {
    this.#scenario = scenario;
    this.#defects = defects;
    this.#parts = parts;
  }

  ofDevice(device: Device, event: FollowerEvent): DeviceTurn | Broken {
    return remembered(this.#ofDevices, device, this.#keyOf(event), () =>
      attempt(() => this.#deviceTurn(device, event)),
    );
  }

  /** Null: the event ends the instance, with its transaction. */
  ofCloud(cloud: Cloud, event: CloudEvent): CloudTurn | Broken | null {
    return remembered(this.#ofClouds, cloud, this.#keyOf(event), () =>
      attempt(() => {
        const committed = deliver(cloud, event, this.#scenario, this.#defects);
        if (committed === null) return null;
        const { storage, ...others } = committed.cloud;
        const after = { ...others, storage: this.#parts.storage(storage) };
        return { cloud: this.#parts.cloud(after), sent: this.#kept(committed.departures) };
      }),
    );
  }

  /** The device crashes between two events. */
  crashesOf(device: Device): readonly Crash[] {
    let crashes = this.#crashes.get(device);
    if (crashes === undefined) {
      crashes = this.#crashed(device, [], () => '');
      this.#crashes.set(device, crashes);
    }
    return crashes;
  }

  /** The device when nothing can crash any more: without the earlier states of its logs, and without parts that no copy needs. */
  withoutCrashes(device: Device): Device {
    let settled = this.#settled.get(device);
    if (settled === undefined) {
      const isStaging = device.core.copy !== null || device.staged === null;
      const staged = isStaging ? device.staged : null;
      const logs = { base: device.base.slice(-1), queue: device.queue.slice(-1) };
      settled = this.#parts.device({ ...device, ...logs, staged });
      this.#settled.set(device, settled);
    }
    return settled;
  }

  #deviceTurn(before: Device, given: FollowerEvent): DeviceTurn {
    const { link } = before.core;
    const present = 'connection' in link ? link.connection : null;
    const event = this.#defects.followerEvent?.(given, present) ?? given;
    const { state, effects: all } = stepFollower(before.core, event);
    const effects = this.#defects.followerEffects?.(all) ?? all;
    const after = effects.reduce(perform, begun(before, given));
    return {
      device: this.#parts.device({ ...after, core: state }),
      sent: this.#kept(sentOf(effects)),
      crashes: once(() => this.#crashesDuring(begun(before, given), effects)),
    };
  }

  #crashesDuring(before: Device, effects: readonly FollowerEffect[]): Crash[] {
    let device = before;
    return effects.slice(0, -1).flatMap((effect, i) => {
      device = perform(device, effect);
      const done = effects.slice(0, i + 1);
      const inWords = () => ` after ${done.map(effectInWords).join(', ')}`;
      return this.#crashed(device, this.#kept(sentOf(done)), inWords);
    });
  }

  #crashed(device: Device, sent: Crash['sent'], when: () => string): Crash[] {
    const ways = device.base.flatMap((base, b) =>
      device.queue.map((queue, q) => ({ base, b, queue, q })),
    );
    return ways.map(({ base, b, queue, q }) => ({
      device: this.#parts.device(crashed(device, base, queue)),
      sent,
      inWords: () =>
        when() +
        (b < device.base.length - 1 ? ', losing commits of the base' : '') +
        (q < device.queue.length - 1 ? ', losing commits of the queue' : ''),
    }));
  }

  #kept<M extends object>(sent: readonly Departure<M>[]): readonly Departure<M>[] {
    return sent.map(({ connection, message }) => ({
      connection,
      message: message && this.#parts.plain(message),
    }));
  }

  #keyOf(event: FollowerEvent | CloudEvent): string {
    switch (event.kind) {
      case 'received':
        return `received${event.connection} ${this.#parts.numberOf(event.message)}`;
      case 'dismissed':
        return `dismissed${event.n}`;
      case 'called':
      case 'hibernates':
        return event.kind;
      case 'slowEnds':
      case 'attemptStored':
        return `${event.kind}${event.client}`;
      case 'starts':
        return `starts${this.#parts.numberOf(this.#parts.storage(event.storage))}`;
      default:
        return `${event.kind}${event.connection}`;
    }
  }
}

/** The messages of effects, in order; a disconnection is the end. */
function sentOf(effects: readonly FollowerEffect[]): Departure<MessageToServer>[] {
  const sent: Departure<MessageToServer>[] = [];
  for (const effect of effects) {
    if (effect.kind !== 'send' && effect.kind !== 'disconnect') continue;
    const { connection } = effect;
    sent.push({ connection, message: effect.kind === 'send' ? effect.message : null });
  }
  return sent;
}

function remembered<Side, Turn>(
  turns: Map<Side, Map<string, Turn>>,
  side: Side,
  key: string,
  turn: () => Turn,
): Turn {
  let known = turns.get(side);
  if (known === undefined) {
    known = new Map();
    turns.set(side, known);
  }
  let its = known.get(key);
  if (its === undefined) {
    its = turn();
    known.set(key, its);
  }
  return its;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function attempt<T>(action: () => T): T | Broken {
  try {
    return action();
  } catch (error) {
    if (error instanceof Broken) return error;
    throw error;
  }
}
