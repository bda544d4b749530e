// Deliberate defects of the protocol. The model must break a promise with each of them, which shows that it can see.
//
// Invariant: a defect changes one behaviour, by changing the inputs or effects of follower.ts or server.ts, not their
// code.

import type { FollowerEffect, FollowerEvent } from '../follower.ts';
import type { FollowServerEffect, FollowServerEvent } from '../server-events.ts';
import type { FollowServer, StoredFollowServer } from '../server-state.ts';

/** The places at which a defect can change the protocol. An absent function changes nothing. */
export interface Defects {
  readonly followerEvent?: (event: FollowerEvent, connection: number | null) => FollowerEvent;
  readonly followerEffects?: (effects: readonly FollowerEffect[]) => readonly FollowerEffect[];
  readonly serverEvent?: (event: FollowServerEvent, state: FollowServer) => FollowServerEvent;
  readonly serverState?: (state: FollowServer, event: FollowServerEvent) => FollowServer;
  readonly serverEffects?: (
    effects: readonly FollowServerEffect[],
    state: FollowServer,
  ) => readonly FollowServerEffect[];
  readonly serverStart?: (stored: StoredFollowServer) => StoredFollowServer;
  readonly sendsBeforeCommit?: boolean;
  readonly ignoresIdentity?: boolean;
}

/** All defects, by name. */
export const DEFECTS: Readonly<Record<string, Defects>> = {
  'queue trimmed before the base is flushed': {
    followerEffects: (effects) => moveBefore(effects, 'flushBase', 'forecast'),
  },
  'earlier cuts not flushed before an outcome without one': {
    followerEffects: (effects) =>
      effects.some(({ kind }) => kind === 'applyCut') ? effects : withoutKind(effects, 'flushBase'),
  },
  'call sent before the queue is flushed': {
    followerEffects: (effects) => {
      const [first, ...rest] = effects;
      return first?.kind === 'enqueue' && rest.some(({ kind }) => kind === 'send')
        ? [...rest.filter(({ kind }) => kind === 'send'), first, ...withoutKind(rest, 'send')]
        : effects;
    },
  },
  'server without deduplication': {
    serverState: (state, event) => {
      if (event.kind !== 'call') return state;
      const client = state.connections.get(event.connection)?.client;
      const known = client === undefined ? undefined : state.clients.get(client);
      if (client === undefined || known?.run.kind !== 'idle' || known.waiting.length > 0) {
        return state;
      }
      const n = Math.min(known.record.started, event.message.n - 1);
      const acked = Math.min(known.record.acked, n);
      const outcomeBytes = Array.from({ length: n - acked }, () => 0);
      const record = { ...known.record, started: n, last: n, acked, outcomeBytes };
      return { ...state, clients: new Map(state.clients).set(client, { ...known, record }) };
    },
  },
  'life ignored': {
    serverEvent: (event) =>
      event.kind === 'hello' && event.lifeAtPosition !== null
        ? { ...event, lifeAtPosition: event.message.position?.life ?? null }
        : event,
  },
  'copy goes on in another life': {
    serverEvent: (event) => withForgedLives(event, ['from', 'at']),
  },
  'copy goes on after its last part was taken back': {
    serverEvent: (event) => withForgedLives(event, ['at']),
  },
  'changes of the time between two parts not sent': {
    serverEffects: (effects) =>
      effects.map((effect) =>
        effect.kind === 'sendCut' && effect.parts !== null
          ? { ...effect, since: effect.to }
          : effect,
      ),
  },
  'parts of an earlier copy kept': {
    followerEffects: (effects) =>
      effects.map((effect) =>
        effect.kind === 'stagePart' && effect.copy.parts === 1
          ? { ...effect, copy: { ...effect.copy, parts: 2 } }
          : effect,
      ),
  },
  'outcomes delivered without their cut': {
    serverEffects: (effects) =>
      effects.flatMap((effect): FollowServerEffect[] => {
        if (effect.kind !== 'sendCut' || effect.told === effect.last) return [effect];
        const { connection, client, told, last } = effect;
        return [
          { kind: 'sendEnded', connection, client, told, last },
          { ...effect, told: last },
        ];
      }),
  },
  'answer remembered in memory only': {
    serverEffects: (effects) =>
      effects.map((effect) => (effect.kind === 'record' ? { ...effect, outcome: null } : effect)),
  },
  'resend starts at the wrong number': {
    followerEffects: (effects) => {
      const resent = effects.findIndex(
        (effect) =>
          effect.kind === 'send' && effect.message.kind === 'call' && effect.message.again,
      );
      return effects.filter((_, i) => i !== resent);
    },
  },
  'message of a stale connection accepted': {
    followerEvent: (event, connection) =>
      event.kind === 'received' && connection !== null ? { ...event, connection } : event,
  },
  'marks of calls not compared': {
    followerEvent: (event) =>
      event.kind === 'received' && event.message.kind === 'welcome'
        ? { ...event, message: { ...event.message, received: { n: 0, mark: null } } }
        : event,
  },
  'numbers of calls compared, and their marks not': {
    followerEvent: (event) =>
      event.kind === 'received' && event.message.kind === 'welcome'
        ? {
            ...event,
            message: { ...event.message, received: { ...event.message.received, mark: null } },
          }
        : event,
  },
  'refusal deleted before it is recorded': {
    followerEffects: (effects) =>
      effects.flatMap((effect): FollowerEffect[] =>
        effect.kind === 'dequeue' && effect.refusals.length > 0
          ? [{ ...effect, refusals: [] }, { kind: 'flushQueue' }, effect]
          : [effect],
      ),
  },
  'snapshot that does not reset the base of the pending calls': {
    followerEffects: (effects) =>
      effects.some((effect) => effect.kind === 'applyCut' && effect.parts !== null)
        ? withoutKind(effects, 'forecast')
        : effects,
  },
  'snapshot added to the old base': {
    followerEffects: (effects) =>
      effects.map((effect) => (effect.kind === 'applyCut' ? { ...effect, parts: null } : effect)),
  },
  'messages leave before the commit': { sendsBeforeCommit: true },
  'interrupted call runs again': {
    serverStart: (stored) => ({
      ...stored,
      records: new Map(
        [...stored.records].map(([client, record]) => [
          client,
          { ...record, started: record.last },
        ]),
      ),
    }),
  },
};

/** Makes the server believe that these positions of a snapshot belong to the object's history. */
function withForgedLives(event: FollowServerEvent, ignored: readonly ('from' | 'at')[]) {
  if ((event.kind !== 'hello' && event.kind !== 'next') || event.copyLives === null) return event;
  const copy = event.message.copy!;
  const lives = ignored.map((name) => [name, copy[name].life] as const);
  return { ...event, copyLives: { ...event.copyLives, ...Object.fromEntries(lives) } };
}

function withoutKind(effects: readonly FollowerEffect[], kind: FollowerEffect['kind']) {
  return effects.filter((effect) => effect.kind !== kind);
}

/** Moves the effects of one kind to a later place: before the effects of another kind. */
function moveBefore(
  effects: readonly FollowerEffect[],
  kind: FollowerEffect['kind'],
  before: FollowerEffect['kind'],
): readonly FollowerEffect[] {
  const moving = effects.filter((effect) => effect.kind === kind);
  return withoutKind(effects, kind).flatMap((effect) =>
    effect.kind === before ? [...moving, effect] : [effect],
  );
}
