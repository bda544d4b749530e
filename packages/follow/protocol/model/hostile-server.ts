// Walks a device whose server is hostile: it sends any message of the protocol at any time, on the present connection and
// on the one before, and ends connections. The app makes calls meanwhile, and the device may crash once.
//
// The server may show and change everything in the device's copy, and answer the calls that the device has made. It can
// neither end nor hang the device, nor take a call that it has not answered: once the connection reaches a server that
// keeps to the protocol, all copies are equal and all calls are answered, unless the follower has stopped with a reason.
//
// This file does not know how the changes of a cut are applied: the code that does it checks them.

import type { FollowerEvent } from '../follower.ts';
import type {
  CopyMark,
  CutBase,
  MessageToFollower,
  MessageToServer,
  NumberedOutcome,
  Position,
} from '../messages.ts';
import { type Cloud, type CloudEvent, type Departure, startCloud } from './cloud.ts';
import type { Defects } from './defects.ts';
import {
  Broken,
  baseOf,
  type Device,
  expectedForecast,
  newDevice,
  queueOf,
  tagOf,
} from './device.ts';
import type { Failure } from './explore.ts';
import { Parts } from './parts.ts';
import { type DeviceTurn, Turns } from './turns.ts';
import { messageInWords } from './words.ts';

/** How a walk begins: with a device that has never connected, or with one that is up to date. */
export interface HostileServerScenario {
  /** How many messages and ends of connections the server may send. */
  readonly messages: number;
  readonly isNew: boolean;
}

export interface HostileServerWalk {
  readonly states: number;
  readonly steps: number;
  readonly depth: number;
  /** How many states have a stopped follower, by the reason for which it stopped. */
  readonly stops: Readonly<Record<string, number>>;
  readonly failure: Failure | null;
}

/** `messages` is how many messages and ends of connections may still come from the server. */
interface State {
  readonly device: Device;
  /** The open connection, or the last one. */
  readonly connection: 0 | 1;
  readonly isOpen: boolean;
  readonly messages: number;
  readonly crashes: number;
  readonly parent: number;
  readonly depth: number;
  readonly step: string;
}

const CALLS = 2;
const CRASHES = 1;
/** An upper bound of the events that a device needs until everything is settled. */
const HONEST_EVENTS_MAX = 200;
const HONEST_CONNECTION = 2;
/** The life of the positions that the hostile server makes up. */
const FORGED_LIFE = 66;
const FORGED: Position = { id: 1, life: FORGED_LIFE };
const ELSEWHERE: Position = { id: 9, life: FORGED_LIFE };
const ROWS = [[0, `Z1@${FORGED_LIFE}`]];
const RECEIPT = 5;

/** Walks a device with a hostile server until every state is visited or a promise is broken. */
export function exploreHostileServer(
  scenario: HostileServerScenario,
  defects: Defects = {},
): HostileServerWalk {
  return new HostileServer(defects).walk(scenario);
}

class HostileServer {
  readonly #parts = new Parts();
  readonly #turns: Turns;
  readonly #states: State[] = [];
  readonly #known = new Set<string>();
  readonly #healed = new Set<Device>();
  #steps = 0;

  constructor(defects: Defects) {
    this.#turns = new Turns(defects, this.#parts);
  }

  walk({ messages, isNew }: HostileServerScenario): HostileServerWalk {
    const made = this.#parts.device(newDevice('A'));
    const device = isNew ? made : this.#withoutConnection(this.#withHonestServer(made));
    const start = { device, connection: 1, isOpen: false, messages, crashes: CRASHES } as const;
    this.#add({ ...start, parent: -1, depth: 0, step: '' });
    for (let number = 0; number < this.#states.length; number++) {
      const state = this.#states[number]!;
      let name = () => 'the server keeps to the protocol from now on';
      try {
        this.#checkHealing(state);
        for (const [step, inWords] of this.#stepsFrom(state)) {
          name = inWords;
          this.#steps += 1;
          this.#add({ ...step(), parent: number, depth: state.depth + 1, step: inWords() });
        }
      } catch (error) {
        if (!(error instanceof Broken)) throw error;
        return this.#result({ promise: error.message, trace: [...this.#traceTo(number), name()] });
      }
    }
    return this.#result(null);
  }

  #add(state: State): void {
    const { device, connection, isOpen, messages, crashes } = state;
    const key = [this.#parts.numberOf(device), connection, isOpen, messages, crashes].join();
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.#states.push(state);
  }

  *#stepsFrom(state: State): Generator<readonly [step: () => State, inWords: () => string]> {
    const { device, connection, isOpen, messages } = state;
    const { core, app } = device;
    if (app.made < CALLS) {
      const args = `A${app.made + 1}`;
      const isForecast = core.isForecasting;
      const call = { mark: app.made + 1, method: 'forged', args, bytes: 0, isForecast };
      const event = { kind: 'called', call, retried: null } as const;
      yield* this.#stepsOf(state, event, () => `A calls ${args}`);
    }
    const [shown] = app.shown;
    if (shown !== undefined) {
      const event = { kind: 'dismissed', n: shown.n } as const;
      yield* this.#stepsOf(state, event, () => `A dismisses the refusal of ${shown.tag}`);
    }
    if (!isOpen && core.link.kind === 'offline') {
      const next = connection === 0 ? 1 : 0;
      const opened = { ...state, connection: next, isOpen: true } as const;
      yield* this.#stepsOf(opened, { kind: 'connected', connection: next }, () => 'A connects');
    }
    if (messages === 0) return;
    const fewer = { ...state, messages: messages - 1 };
    for (const message of messagesTo(device)) {
      for (const from of [connection, 1 - connection]) {
        const where = from === connection ? '' : ' on the connection before';
        const event = { kind: 'received', connection: from, message } as const;
        const inWords = () => `A receives${where}: ${messageInWords(message)}`;
        yield* this.#stepsOf(fewer, event, inWords);
      }
    }
    if (!isOpen) return;
    const closed = { ...fewer, isOpen: false };
    for (const isClientTaken of [false, true]) {
      const event = { kind: 'disconnected', connection, isClientTaken } as const;
      yield* this.#stepsOf(closed, event, () => `the server closes (taken: ${isClientTaken})`);
    }
  }

  /** Returns the step of an event with all of its effects, and the steps with a crash between the effects. */
  *#stepsOf(
    state: State,
    event: FollowerEvent,
    inWords: () => string,
  ): Generator<readonly [step: () => State, inWords: () => string]> {
    yield [() => this.#after(state, event), inWords];
    if (state.crashes === 0) return;
    const turn = this.#turnOf(state.device, event);
    const crashed = { ...state, crashes: state.crashes - 1, isOpen: false };
    for (const crash of turn.crashes()) {
      yield [
        () => ({ ...crashed, device: this.#turns.withoutCrashes(crash.device) }),
        () => `${inWords()}; crash${crash.inWords()}`,
      ];
    }
  }

  #turnOf(device: Device, event: FollowerEvent): DeviceTurn {
    let turn: DeviceTurn | Broken;
    try {
      turn = this.#turns.deviceTurn(device, event);
    } catch (error) {
      throw new Broken(`an event ends the follower: ${String(error)}`);
    }
    if (turn instanceof Broken) throw turn;
    return turn;
  }

  #after(state: State, event: FollowerEvent): State {
    const before = state.device;
    const turn = this.#turnOf(before, event);
    checkQueue(before, turn.device, event);
    checkForecast(turn.device);
    checkSent(turn, state.connection);
    const { link } = turn.device.core;
    const hasClosed = turn.sent.some(({ message }) => message === null);
    const isConnected = 'connection' in link;
    const isOwn = 'connection' in event && event.connection === state.connection && state.isOpen;
    if (event.kind === 'received' && !isOwn && turn.device !== before) {
      throw new Broken('a message of a connection that was given up changes the device');
    }
    const isOpen = state.isOpen && !hasClosed;
    if (isOpen !== isConnected) {
      throw new Broken(
        `the connection is ${isOpen ? 'open' : 'closed'}, and the follower ${link.kind}`,
      );
    }
    const isCrashDue = state.crashes > 0;
    const device = isCrashDue ? turn.device : this.#turns.withoutCrashes(turn.device);
    return { ...state, isOpen, device };
  }

  /** Checks that a server that keeps to the protocol brings the device up to date. */
  #checkHealing({ device, messages }: State): void {
    if (messages > 0 || device.core.link.kind === 'stopped' || this.#healed.has(device)) return;
    this.#healed.add(device);
    const healed = this.#withHonestServer(this.#withoutConnection(device));
    const { link } = healed.core;
    if (link.kind !== 'current' || queueOf(healed).calls.length > 0) {
      throw new Broken(
        `an honest server leaves A ${link.kind}, with ${queueOf(healed).calls.length} calls`,
      );
    }
  }

  #withoutConnection(device: Device): Device {
    const { link } = device.core;
    if (!('connection' in link)) return device;
    const { connection } = link;
    const event = { kind: 'disconnected', connection, isClientTaken: false } as const;
    return this.#turns.withoutCrashes(this.#turnOf(device, event).device);
  }

  /** Connects an offline device to an object that nobody has used, and delivers all messages. */
  #withHonestServer(offline: Device): Device {
    let device = offline;
    let cloud: Cloud = startCloud({ notes: [], clients: new Map() }, 1, new Map(), {}).cloud;
    const up: Departure<MessageToServer>[] = [];
    const take = (event: FollowerEvent) => {
      const turn = this.#turnOf(device, event);
      device = this.#turns.withoutCrashes(turn.device);
      up.push(...turn.sent);
    };
    take({ kind: 'connected', connection: HONEST_CONNECTION });
    const deliver = (event: CloudEvent) => {
      const turn = this.#turns.serverTurn(this.#parts.cloud(cloud), event);
      if (turn === null || turn instanceof Broken) throw turn ?? new Broken('the server has ended');
      cloud = turn.cloud;
      for (const { connection, message } of turn.sent) {
        if (message === null) throw new Broken('an honest server closes the connection of A');
        take({ kind: 'received', connection, message });
      }
    };
    for (let events = 0; ; events++) {
      if (events > HONEST_EVENTS_MAX) throw new Broken('A and an honest server never come to rest');
      const attempt = [...cloud.core.clients].find(([, { run }]) => run.kind === 'attempting');
      const sent = up.shift();
      if (attempt !== undefined) deliver({ kind: 'attemptStored', client: attempt[0] });
      if (sent === undefined && attempt === undefined) break;
      if (sent === undefined) continue;
      const { connection, message } = sent;
      if (message === null) throw new Broken('A gives up the connection to an honest server');
      deliver({ kind: 'received', connection, message });
    }
    const texts = baseOf(device).rows.map(([, text]) => text);
    if (texts.join() !== cloud.storage.notes.join()) {
      throw new Broken(`an honest server has (${cloud.storage.notes}), and A (${texts})`);
    }
    return device;
  }

  #traceTo(number: number): string[] {
    const trace: string[] = [];
    for (let at = number; at > 0; at = this.#states[at]!.parent) {
      trace.unshift(this.#states[at]!.step);
    }
    return trace;
  }

  #result(failure: Failure | null): HostileServerWalk {
    const stops: Record<string, number> = {};
    for (const { device } of this.#states) {
      const { link } = device.core;
      if (link.kind === 'stopped') stops[link.reason] = (stops[link.reason] ?? 0) + 1;
    }
    const depth = this.#states.at(-1)!.depth;
    return { states: this.#states.length, steps: this.#steps, depth, stops, failure };
  }
}

function checkForecast(device: Device): void {
  const { rows } = baseOf(device);
  const isForecasting = device.core.isForecasting;
  const expected = isForecasting ? expectedForecast(device) : rows.map(([, text]) => text);
  if (device.forecast.join() === expected.join()) return;
  throw new Broken(`A shows (${device.forecast}), not (${expected})`);
}

/** Checks that calls leave the queue only with an answer, and refusals only when they are dismissed. */
function checkQueue(before: Device, after: Device, event: FollowerEvent): void {
  const message = event.kind === 'received' ? event.message : null;
  const answered = message?.kind === 'cut' || message?.kind === 'ended' ? message.last : 0;
  const [old, now] = [queueOf(before), queueOf(after)];
  const left = old.calls.filter(({ n }) => !now.calls.some((call) => call.n === n));
  const lost = left.find(({ n }) => n > answered);
  if (lost !== undefined) throw new Broken(`${tagOf(lost)} leaves the queue without an answer`);
  const refused = now.refusals.map(({ call }) => tagOf(call));
  const shown = after.app.shown.map(({ tag }) => tag);
  if (refused.join() !== shown.join()) {
    throw new Broken(`the queue has refusals of (${refused}), and the app was told of (${shown})`);
  }
}

/** Checks that calls are sent in order, are durable, and go to the open connection. */
function checkSent({ device, sent }: DeviceTurn, open: number): void {
  let last = 0;
  for (const { connection, message } of sent) {
    if (connection !== open) throw new Broken(`A sends on connection ${connection}, not ${open}`);
    if (message?.kind !== 'call') continue;
    const { n } = message;
    if (n <= last) throw new Broken(`A sends call ${n} after call ${last}`);
    last = n;
    if (device.queue.some(({ calls }) => !calls.some((call) => call.n === n))) {
      throw new Broken(`A sends call ${n}, which a crash may lose`);
    }
  }
}

/**
 * Returns the messages that a hostile server sends to a device in this state: correct messages, and messages that are
 * wrong in some way.
 */
function messagesTo(device: Device): readonly MessageToFollower[] {
  const { core } = device;
  const { queue, base, copy } = core;
  const { issued, calls } = queue;
  const marks = [
    { n: 0, mark: null },
    ...[issued, 1].map((n) => ({ n, mark: calls.find((call) => call.n === n)?.mark ?? null })),
    { n: issued, mark: 99 },
    { n: issued + 1, mark: null },
  ];
  const welcomes = marks.map((received) => ({ received, version: 1, protocol: 2 }));
  const lasts = [...new Set([0, base.last, Math.max(0, issued - 1), issued, issued + 1])];
  const outcomes: readonly (readonly NumberedOutcome[])[] = [
    [],
    calls.map(({ n }) => [n, { kind: 'value', value: 'forged' }]),
    calls.map(({ n }) => [n, { kind: 'error', error: 'forged' }]),
    [[99, { kind: 'failed', code: 'CALL_ABANDONED' }]],
  ];
  const bases: readonly CutBase[] = [
    { kind: 'position', position: base.position ?? FORGED },
    { kind: 'position', position: ELSEWHERE },
    { kind: 'parts', from: copy?.from ?? FORGED, count: copy?.parts ?? 1 },
    { kind: 'parts', from: copy?.from ?? FORGED, count: 7 },
    { kind: 'parts', from: ELSEWHERE, count: copy?.parts ?? 1 },
  ];
  const answers = lasts.flatMap((last) => outcomes.map((given) => ({ last, outcomes: given })));
  return [
    ...[...welcomes, { ...welcomes[0]!, version: 2 }].map(
      (welcome) => ({ kind: 'welcome', ...welcome }) as const,
    ),
    ...(['PROTOCOL', 'OBJECT_TOO_LARGE'] as const).map(
      (reason) => ({ kind: 'rejected', reason, protocol: { oldest: 9, newest: 9 } }) as const,
    ),
    ...copiesFor(copy).flatMap((part) =>
      [null, RECEIPT].map(
        (receipt) => ({ kind: 'part', copy: part, progress: 0.5, changes: ROWS, receipt }) as const,
      ),
    ),
    ...answers.map((given) => ({ kind: 'ended', ...given, receipt: RECEIPT }) as const),
    ...bases.flatMap((onto) =>
      answers.map(
        (given) =>
          ({ kind: 'cut', onto, to: FORGED, ...given, changes: ROWS, receipt: null }) as const,
      ),
    ),
  ];
}

/**
 * Returns first parts, the next part after the parts of the device, and parts that do not follow the device's parts.
 */
function copiesFor(copy: CopyMark | null): readonly CopyMark[] {
  const first = { from: FORGED, at: FORGED, parts: 1 };
  const follows = { ...(copy ?? first), parts: (copy?.parts ?? 1) + 1 };
  return [
    { ...first, next: 1 },
    { ...first, next: null },
    { ...follows, next: null },
    { ...follows, from: ELSEWHERE, next: null },
    { ...first, parts: 7, next: 7 },
  ];
}
