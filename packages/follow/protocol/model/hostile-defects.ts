// Deliberate defects that only a hostile follower, or a hostile server, can use. The model must break a promise with each.
//
// Invariant: as in defects.ts, a defect changes one behaviour, by changing the inputs or effects of server.ts or follower.ts.

import type { FollowServerEffect, FollowServerEvent } from '../server-events.ts';
import type { ClientRecord, FollowServer } from '../server-state.ts';
import { NOTHING_UNREAD } from '../unread.ts';
import type { Defects } from './defects.ts';
import { hostileIndex } from './hostile-names.ts';

/** The defects of the server, by name. */
export const HOSTILE_DEFECTS: Readonly<Record<string, Defects>> = {
  'identity of a client not compared': { ignoresIdentity: true },
  'acknowledgement taken for another client': {
    serverEvent: (event, state) => {
      if (event.kind !== 'ack') return event;
      return { ...event, connection: otherConnection(state, event.connection) };
    },
  },
  'part served before the hello': {
    serverState: (state, event) => {
      if (event.kind !== 'next' || state.connections.has(event.connection)) return state;
      const [client] = state.clients.keys();
      if (client === undefined) return state;
      const greeted = { client, sent: null, told: 0, unread: NOTHING_UNREAD };
      return { ...state, connections: new Map(state.connections).set(event.connection, greeted) };
    },
  },
  'any receipt confirms everything': {
    serverEvent: (event, state) => {
      if (event.kind !== 'ack' && event.kind !== 'next') return event;
      const newest = state.connections.get(event.connection)?.unread.messages.at(-1);
      if (newest === undefined || event.message.receipt === null) return event;
      const message = { ...event.message, receipt: newest.receipt };
      return { ...event, message } as FollowServerEvent;
    },
  },
  'cut asked for over the bound of unread bytes': {
    serverEvent: (event) => {
      if (event.kind !== 'next' || event.message.copy.next !== null) return event;
      const { connection, head, message } = event;
      return { kind: 'partsSent', connection, copy: message.copy, head };
    },
  },
  'second hello on a connection begins it again': {
    serverState: (state, event) => {
      if (event.kind !== 'hello') return state;
      const connections = new Map(state.connections);
      connections.delete(event.connection);
      return withoutUnread({ ...state, connections }, event.connection, state);
    },
  },
  'breach of the protocol closes all connections': {
    serverEffects: (effects, state) =>
      effects.flatMap((effect): FollowServerEffect[] =>
        effect.kind === 'close'
          ? [
              effect,
              ...[...state.connections.keys()].map((connection) => ({ ...effect, connection })),
            ]
          : [effect],
      ),
  },
  'unread bytes forgotten with the next event': {
    serverState: (state) => {
      const connections = [...state.connections].map(
        ([number, connection]) => [number, { ...connection, unread: NOTHING_UNREAD }] as const,
      );
      return { ...state, connections: new Map(connections), unreadBytes: 0 };
    },
  },
  'numbers of calls may be left out': {
    serverState: (state, event) => {
      if (event.kind !== 'call') return state;
      const client = state.connections.get(event.connection)?.client;
      const n = event.message.n - 1;
      return withRecord(state, client, (record) =>
        record.started >= n
          ? record
          : { ...record, started: n, last: n, acked: n, outcomeBytes: [] },
      );
    },
  },
  'welcome names the newest call of another client': {
    serverEffects: (effects, state) =>
      effects.map((effect) => {
        if (effect.kind !== 'send' || effect.message.kind !== 'welcome') return effect;
        const client = state.connections.get(effect.connection)?.client;
        const others = [...state.clients].filter(([name]) => name !== client);
        const [newest] = others
          .map(([, { record }]) => record)
          .filter(({ started }) => started > 0);
        if (newest === undefined) return effect;
        const received = { n: newest.started, mark: newest.mark };
        return { ...effect, message: { ...effect.message, received } };
      }),
  },
  'outcomes of another client told': {
    serverEffects: (effects, state) =>
      effects.map((effect) => {
        if (effect.kind !== 'sendCut' && effect.kind !== 'sendEnded') return effect;
        if (hostileIndex(effect.connection) === null) return effect;
        const other = [...state.clients].find(
          ([name, { record }]) => name !== effect.client && record.last > record.acked,
        );
        if (other === undefined) return effect;
        const [client, { record }] = other;
        return { ...effect, client, told: 0, last: record.last };
      }),
  },
  'bytes of waiting calls not counted': {
    serverEvent: (event) => (event.kind === 'call' ? { ...event, bytes: 0 } : event),
  },
  'bytes of kept outcomes not counted': {
    serverState: (state, event) => {
      if (event.kind !== 'call') return state;
      const client = state.connections.get(event.connection)?.client;
      return withRecord(state, client, (record) => ({
        ...record,
        outcomeBytes: record.outcomeBytes.map(() => 0),
      }));
    },
  },
  'mark of a call not stored': {
    serverEffects: (effects) =>
      effects.map((effect) =>
        effect.kind === 'record' ? { ...effect, record: { ...effect.record, mark: null } } : effect,
      ),
  },
};

/** The defects of a follower, by name. */
export const HOSTILE_SERVER_DEFECTS: Readonly<Record<string, Defects>> = {
  'connection given up and not closed': {
    followerEffects: (effects) => effects.filter(({ kind }) => kind !== 'disconnect'),
  },
  'any answer empties the queue': {
    followerEffects: (effects) =>
      effects.map((effect) =>
        effect.kind === 'dequeue' ? { ...effect, last: Number.MAX_SAFE_INTEGER } : effect,
      ),
  },
  'message of a connection that was given up accepted': {
    followerEvent: (event, connection) =>
      event.kind === 'received' && connection !== null ? { ...event, connection } : event,
  },
  'refusals not kept': {
    followerEffects: (effects) =>
      effects.map((effect) => (effect.kind === 'dequeue' ? { ...effect, refusals: [] } : effect)),
  },
};

/** Returns the number of another connection, if there is one. */
function otherConnection({ connections }: FollowServer, connection: number): number {
  return [...connections.keys()].find((other) => other !== connection) ?? connection;
}

/** Takes the bytes that were unread on a connection from their sum. */
function withoutUnread(
  state: FollowServer,
  connection: number,
  before: FollowServer,
): FollowServer {
  const unread = before.connections.get(connection)?.unread ?? NOTHING_UNREAD;
  const bytes = unread.messages.reduce((sum, message) => sum + message.bytes, unread.unasked);
  return { ...state, unreadBytes: state.unreadBytes - bytes };
}

function withRecord(
  state: FollowServer,
  name: string | undefined,
  change: (record: ClientRecord) => ClientRecord,
): FollowServer {
  const client = name === undefined ? undefined : state.clients.get(name);
  if (name === undefined || client === undefined) return state;
  const changed = { ...client, record: change(client.record) };
  return { ...state, clients: new Map(state.clients).set(name, changed) };
}
