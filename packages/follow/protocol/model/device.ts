// A follower's device in the model: the protocol's state (follower.ts), a disk with two logs, the forecast, and the app
// that makes the calls.
//
// Each log is a list of states: the flushed one first, then one for each commit that a crash may lose. The content of the
// object is a list of rows `[index, text]`, one for each note of the server's history.
//
// Invariant: only performed effects change the disk and the forecast.

import {
  type BaseMark,
  type Follower,
  type FollowerEffect,
  type FollowerEvent,
  openFollower,
  type QueuedCall,
  type StoredQueue,
} from '../follower.ts';
import type { CopyMark } from '../messages.ts';
import type { CallKind } from './scenario.ts';
import { outcomeInWords } from './words.ts';

export type Row = readonly [index: number, text: string];

export interface BaseState {
  readonly mark: BaseMark;
  readonly rows: readonly Row[];
}

export interface StagedSnapshot {
  readonly copy: CopyMark;
  readonly rows: readonly Row[];
}

/** What the app has seen. Calls are named by their tags, such as `A1`. */
export interface App {
  readonly made: number;
  readonly acknowledged: readonly string[];
  /** The refusals that were reported to this process and not dismissed. */
  readonly shown: readonly { readonly n: number; readonly tag: string }[];
  /** The tags of the refusals whose dismissal is durable. */
  readonly dismissed: readonly string[];
  /** The tags of the refusals whose dismissal is not flushed, so that a crash may undo the dismissal. */
  readonly dismissing: readonly string[];
  /** True if the device was given its files of an earlier time. */
  readonly isTakenBack: boolean;
}

/** While the effects of an event are performed, `core` is still the protocol's state before the event. */
export interface Device {
  readonly core: Follower;
  readonly base: readonly BaseState[];
  readonly queue: readonly StoredQueue[];
  /** The received parts of a snapshot, with their mark. The parts outlive a crash, even after they were applied. */
  readonly staged: StagedSnapshot | null;
  /** The texts of the base's rows, then the tags of the forecast calls. */
  readonly forecast: readonly string[];
  readonly app: App;
}

/** Thrown when a promise of the protocol does not hold. */
export class Broken extends Error {
  override name = 'Broken';
}

/** The outcomes that a call of each kind may have. */
const ALLOWED_OUTCOMES: Readonly<Record<CallKind, readonly string[]>> = {
  write: ['value'],
  refused: ['error'],
  thrown: ['error'],
  quiet: ['value'],
  slow: ['value', 'CALL_INTERRUPTED'],
  lingering: ['value', 'CALL_INTERRUPTED'],
  fatal: ['CALL_ABANDONED'],
  outside: ['value'],
  forged: ['value', 'error', 'CALL_INTERRUPTED', 'CALL_ABANDONED', 'OUTCOME_LOST'],
};

const VERSION = 1;
const NEW_BASE: BaseState = { mark: { position: null, last: 0 }, rows: [] };
const NEW_QUEUE: StoredQueue = { issued: 0, leftMark: null, calls: [], refusals: [] };
const NEW_APP: App = {
  made: 0,
  acknowledged: [],
  shown: [],
  dismissed: [],
  dismissing: [],
  isTakenBack: false,
};

export function newDevice(client: string): Device {
  return open(client, NEW_BASE, NEW_QUEUE, null, NEW_APP);
}

/** Returns the device after a crash that has left its logs in these states. */
export function afterCrash(
  { core, app, staged }: Device,
  base: BaseState,
  queue: StoredQueue,
): Device {
  const isKept = (tag: string) => queue.refusals.some(({ call }) => tagOf(call) === tag);
  // A dismissal that was not flushed may outlive the crash.
  const dismissed = app.dismissing.filter((tag) => !isKept(tag)).reduce(withTag, app.dismissed);
  return open(core.client, base, queue, staged, { ...app, dismissed, shown: [], dismissing: [] });
}

/** Returns a device whose flushed files are those of an earlier time; the app continues with its next calls. */
export function withFilesOf(copied: Device, { core, app }: Device): Device {
  const [base, queue] = [copied.base[0]!, copied.queue[0]!];
  const then = { ...copied.app, shown: [], dismissing: [], isTakenBack: true };
  return open(core.client, base, queue, copied.staged, { ...then, made: app.made });
}

function open(
  client: string,
  base: BaseState,
  queue: StoredQueue,
  staged: StagedSnapshot | null,
  app: App,
): Device {
  const stored = { base: base.mark, queue, copy: staged?.copy ?? null };
  const { state, effects } = openFollower(stored, { client, version: VERSION });
  const device: Device = {
    core: state,
    base: [base],
    queue: [queue],
    staged,
    forecast: [],
    app,
  };
  return effects.reduce(perform, device);
}

export function baseOf({ base }: Device): BaseState {
  return base.at(-1)!;
}

export function queueOf({ queue }: Device): StoredQueue {
  return queue.at(-1)!;
}

/** Returns the base with those calls of the queue whose writes it lacks. */
export function expectedForecast(device: Device): readonly string[] {
  const { mark, rows } = baseOf(device);
  const pending = queueOf(device).calls.filter(({ n, isForecast }) => isForecast && n > mark.last);
  return [...rows.map(([, text]) => text), ...pending.map(tagOf)];
}

export function tagOf({ args }: Pick<QueuedCall, 'args'>): string {
  return args as string;
}

/** Returns the device as it is when an event is delivered: a new call has already run on the forecast. */
export function withForecastCall(device: Device, event: FollowerEvent): Device {
  if (event.kind !== 'called') return device;
  const { forecast, app } = device;
  return {
    ...device,
    forecast: event.call.isForecast ? [...forecast, tagOf(event.call)] : forecast,
    app: { ...app, made: app.made + 1 },
  };
}

/** Performs an effect on the device. Messages and disconnections change nothing here. */
export function perform(device: Device, effect: FollowerEffect): Device {
  const { app } = device;
  switch (effect.kind) {
    case 'enqueue': {
      const { issued, leftMark, calls, refusals } = queueOf(device);
      if (effect.call.n <= issued) throw new Broken(`number ${effect.call.n} is given twice`);
      const kept = refusals.filter(({ call }) => call.n !== effect.retried);
      return withQueue(device, {
        issued: effect.call.n,
        leftMark,
        calls: [...calls, effect.call],
        refusals: kept,
      });
    }
    case 'dequeue': {
      const { issued, calls, refusals } = queueOf(device);
      return withQueue(device, {
        issued,
        leftMark: effect.mark,
        calls: calls.filter(({ n }) => n > effect.last),
        refusals: [...refusals, ...effect.refusals],
      });
    }
    case 'dismiss': {
      const queue = queueOf(device);
      const refusals = queue.refusals.filter(({ call }) => call.n !== effect.n);
      const dismissing = app.shown.filter(({ n }) => n === effect.n).map(({ tag }) => tag);
      const shown = app.shown.filter(({ n }) => n !== effect.n);
      return withQueue({ ...device, app: { ...app, shown, dismissing } }, { ...queue, refusals });
    }
    case 'flushQueue': {
      const dismissed = app.dismissing.reduce(withTag, app.dismissed);
      const flushed = { ...app, dismissed, dismissing: [] };
      return { ...device, queue: [queueOf(device)], app: flushed };
    }
    case 'applyCut': {
      const before = effect.parts === null ? baseOf(device).rows : device.staged!.rows;
      const rows = withChanges(before, effect.changes as readonly Row[]);
      return { ...device, base: [...device.base, { mark: effect.mark, rows }] };
    }
    case 'flushBase':
      return { ...device, base: [baseOf(device)] };
    case 'stagePart': {
      const { copy, changes } = effect;
      const before = copy.parts === 1 ? [] : (device.staged?.rows ?? []);
      return { ...device, staged: { copy, rows: withChanges(before, changes as readonly Row[]) } };
    }
    case 'forecast': {
      const rows = baseOf(device).rows.map(([, text]) => text);
      return { ...device, forecast: [...rows, ...effect.calls.map(tagOf)] };
    }
    case 'acknowledge': {
      const call = queueOf(device).calls.find(({ n }) => n === effect.n)!;
      return { ...device, app: { ...app, acknowledged: withTag(app.acknowledged, tagOf(call)) } };
    }
    case 'settle': {
      const call = device.core.queue.calls.find(({ n }) => n === effect.n)!;
      const { outcome } = effect;
      const end = outcomeInWords(outcome);
      const isForged = call.method === 'forged';
      if (outcome.kind === 'value' && outcome.value !== tagOf(call) && !isForged) {
        throw new Broken(`${tagOf(call)} is answered with the outcome of ${String(outcome.value)}`);
      }
      // A call in the older files may have been answered and acknowledged before the files were put back.
      const isLost = end === 'OUTCOME_LOST' && app.isTakenBack;
      if (!isLost && !ALLOWED_OUTCOMES[call.method as CallKind].includes(end)) {
        throw new Broken(`${tagOf(call)} (${call.method}) ends with ${end}`);
      }
      if (device.queue.some(({ calls }) => calls.some(({ n }) => n === effect.n))) {
        throw new Broken(`${tagOf(call)} is settled, and may be pending after a crash`);
      }
      return device;
    }
    case 'reportRefusal': {
      const { n } = effect.refusal.call;
      const tag = tagOf(effect.refusal.call);
      if (app.dismissed.includes(tag)) throw new Broken(`the dismissed refusal of ${tag} is back`);
      return { ...device, app: { ...app, shown: [...app.shown, { n, tag }] } };
    }
    case 'send':
    case 'disconnect':
      return device;
  }
}

function withQueue(device: Device, queue: StoredQueue): Device {
  return { ...device, queue: [...device.queue, queue] };
}

/** Adds a tag to a sorted list, so that states which differ only in the order of calls are equal. */
function withTag(tags: readonly string[], tag: string): readonly string[] {
  return tags.includes(tag) ? tags : [...tags, tag].sort();
}

function withChanges(rows: readonly Row[], changes: readonly Row[]): readonly Row[] {
  const all = new Map([...rows, ...changes]);
  return [...all].sort(([a], [b]) => a - b);
}
