// Computes and caches the turns of a device or the server: one event with all of its effects. A device or a server has
// far fewer states than the whole world, so the same turn is needed again and again.
//
// Invariant: the devices, clouds and messages of turns are the shared instances of `Parts`.
//
// This file does not know the wires that carry messages, nor how many faults are left.

import type { FollowerCloseReason } from '../connection.ts';
import { type FollowerEffect, type FollowerEvent, stepFollower } from '../follower.ts';
import type { MessageToFollower, MessageToServer } from '../messages.ts';
import { type Cloud, type CloudEvent, type Departure, deliver } from './cloud.ts';
import type { Defects } from './defects.ts';
import { afterCrash, Broken, type Device, perform, withForecastCall } from './device.ts';
import type { Parts } from './parts.ts';
import { effectInWords } from './words.ts';

/** The result of an event at a device, with all of its effects performed. */
export interface DeviceTurn {
  readonly device: Device;
  readonly sent: readonly Departure<MessageToServer>[];
  /** Computes the results of crashes after only some of the effects. */
  readonly crashes: () => readonly Crash[];
}

/** A device after a crash. A crash may leave the device's logs in one of several states; this is one of them. */
export interface Crash {
  readonly device: Device;
  /** The messages that left before the crash. */
  readonly sent: readonly Departure<MessageToServer>[];
  readonly inWords: () => string;
}

export interface CloudTurn {
  readonly cloud: Cloud;
  readonly sent: readonly Departure<MessageToFollower>[];
}

export class Turns {
  /** The reasons for which the server has closed connections in any of its turns. */
  readonly closeReasons = new Set<FollowerCloseReason>();
  readonly #defects: Defects;
  readonly #parts: Parts;
  readonly #deviceTurns = new Map<Device, Map<string, DeviceTurn | Broken>>();
  readonly #serverTurns = new Map<Cloud, Map<string, CloudTurn | Broken | null>>();
  readonly #crashes = new Map<Device, readonly Crash[]>();
  readonly #settled = new Map<Device, Device>();

  constructor(defects: Defects, parts: Parts) {
    this.#defects = defects;
    this.#parts = parts;
  }

  deviceTurn(device: Device, event: FollowerEvent): DeviceTurn | Broken {
    return cached(this.#deviceTurns, device, this.#keyOf(event), () =>
      resultOrBroken(() => this.#computeDeviceTurn(device, event)),
    );
  }

  /** Returns the server after an event; null if the event ends the instance, and its transaction is lost. */
  serverTurn(cloud: Cloud, event: CloudEvent): CloudTurn | Broken | null {
    return cached(this.#serverTurns, cloud, this.#keyOf(event), () =>
      resultOrBroken(() => {
        const committed = deliver(cloud, event, this.#defects);
        if (committed === null) return null;
        for (const { reason } of committed.departures) {
          if (reason !== undefined) this.closeReasons.add(reason);
        }
        const { storage, ...others } = committed.cloud;
        const after = { ...others, storage: this.#parts.storage(storage) };
        return { cloud: this.#parts.cloud(after), sent: this.#shared(committed.departures) };
      }),
    );
  }

  /** Returns the results of a crash between two events. */
  crashesBetweenEvents(device: Device): readonly Crash[] {
    let crashes = this.#crashes.get(device);
    if (crashes === undefined) {
      crashes = this.#crashesFrom(device, [], () => '');
      this.#crashes.set(device, crashes);
    }
    return crashes;
  }

  /**
   * Removes data that matters only after a crash: earlier states of the logs, and staged parts that were already
   * applied.
   */
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

  #computeDeviceTurn(before: Device, given: FollowerEvent): DeviceTurn {
    const { link } = before.core;
    const currentConnection = 'connection' in link ? link.connection : null;
    const event = this.#defects.followerEvent?.(given, currentConnection) ?? given;
    const { state, effects: all } = stepFollower(before.core, event);
    const effects = this.#defects.followerEffects?.(all) ?? all;
    const after = effects.reduce(perform, withForecastCall(before, given));
    return {
      device: this.#parts.device({ ...after, core: state }),
      sent: this.#shared(messagesOf(effects)),
      crashes: lazily(() => this.#crashesDuring(withForecastCall(before, given), effects)),
    };
  }

  #crashesDuring(before: Device, effects: readonly FollowerEffect[]): Crash[] {
    let device = before;
    return effects.slice(0, -1).flatMap((effect, i) => {
      device = perform(device, effect);
      const done = effects.slice(0, i + 1);
      const inWords = () => ` after ${done.map(effectInWords).join(', ')}`;
      return this.#crashesFrom(device, this.#shared(messagesOf(done)), inWords);
    });
  }

  #crashesFrom(device: Device, sent: Crash['sent'], when: () => string): Crash[] {
    const logStates = device.base.flatMap((base, b) =>
      device.queue.map((queue, q) => ({ base, b, queue, q })),
    );
    return logStates.map(({ base, b, queue, q }) => ({
      device: this.#parts.device(afterCrash(device, base, queue)),
      sent,
      inWords: () =>
        when() +
        (b < device.base.length - 1 ? ', losing commits of the base' : '') +
        (q < device.queue.length - 1 ? ', losing commits of the queue' : ''),
    }));
  }

  #shared<M extends object>(sent: readonly Departure<M>[]): readonly Departure<M>[] {
    return sent.map(({ connection, message }) => ({
      connection,
      message: message && this.#parts.plain(message),
    }));
  }

  #keyOf(event: FollowerEvent | CloudEvent): string {
    switch (event.kind) {
      case 'received':
        return `received${event.connection} ${this.#parts.numberOf(event.message)}`;
      case 'disconnected':
        return `disconnected${event.connection} ${event.isClientTaken}`;
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

/** Returns the messages that these effects send, in order; a `disconnect` becomes a departure without a message. */
function messagesOf(effects: readonly FollowerEffect[]): Departure<MessageToServer>[] {
  const sent: Departure<MessageToServer>[] = [];
  for (const effect of effects) {
    if (effect.kind !== 'send' && effect.kind !== 'disconnect') continue;
    const { connection } = effect;
    sent.push({ connection, message: effect.kind === 'send' ? effect.message : null });
  }
  return sent;
}

function cached<Side, Turn>(
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
  let turnOfKey = known.get(key);
  if (turnOfKey === undefined) {
    turnOfKey = turn();
    known.set(key, turnOfKey);
  }
  return turnOfKey;
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function resultOrBroken<T>(action: () => T): T | Broken {
  try {
    return action();
  } catch (error) {
    if (error instanceof Broken) return error;
    throw error;
  }
}
