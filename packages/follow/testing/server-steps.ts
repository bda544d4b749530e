// Events of a follow server's side and the effects that they have, in a few words, for tests of the protocol.

import type {
  FollowedCallMessage,
  FollowedOutcome,
  HelloMessage,
  Position,
} from '../protocol/messages.ts';
import { openFollowServer, stepFollowServer } from '../protocol/server.ts';
import type { FollowServerEffect, FollowServerEvent } from '../protocol/server-events.ts';
import type { ClientRecord, FollowerConnection, FollowServer } from '../protocol/server-state.ts';

export const at = (id: number, life = 7): Position => ({ id, life });
export const HEAD = at(5);
export const NEW: ClientRecord = {
  ...{ started: 0, mark: null, last: 0, acked: 0 },
  ...{ attempts: 0, outcomeBytes: [] },
};
/** The size of each outcome. */
export const BYTES = 10;
export const value = (of: number): FollowedOutcome => ({ kind: 'value', value: of });
/** The record of a client whose calls up to `last` are answered, and up to `acked` acknowledged. */
export const answeredTo = (last: number, acked = 0): ClientRecord => ({
  ...NEW,
  started: last,
  last,
  acked,
  outcomeBytes: Array.from({ length: last - acked }, () => BYTES),
});

export type Greeting = Partial<Omit<HelloMessage, 'kind'>> & {
  readonly record?: ClientRecord;
  readonly lifeAtPosition?: number | null;
  readonly canSnapshot?: boolean;
};
export const greets = (
  connection: number,
  client: string,
  { record, lifeAtPosition, canSnapshot, ...message }: Greeting = {},
): FollowServerEvent => ({
  kind: 'hello',
  connection,
  message: {
    kind: 'hello',
    protocol: { oldest: 2, newest: 2 },
    client,
    position: HEAD,
    copy: null,
    ack: 0,
    ...message,
  },
  record: record ?? null,
  lifeAtPosition: lifeAtPosition === undefined ? HEAD.life : lifeAtPosition,
  copyLives: null,
  canSnapshot: canSnapshot ?? true,
  head: HEAD,
});
export const call = (n: number, again = false, ack = 0): FollowedCallMessage => ({
  kind: 'call',
  n,
  mark: 100 + n,
  method: 'add',
  args: [n],
  again,
  ack,
});
export const calls = (
  connection: number,
  ...given: Parameters<typeof call>
): FollowServerEvent => ({
  kind: 'call',
  connection,
  message: call(...given),
  bytes: 50,
  head: HEAD,
});
export const ends = (
  client: string,
  outcome: FollowedOutcome = value(1),
  head = HEAD,
): FollowServerEvent => ({
  kind: 'ended',
  client,
  outcome,
  bytes: BYTES,
  head,
});
export const pauses = (client: string, head = HEAD): FollowServerEvent => ({
  kind: 'paused',
  client,
  head,
});
export const stored = (client: string): FollowServerEvent => ({
  kind: 'attemptStored',
  client,
  head: HEAD,
});
export const changes = (head: Position): FollowServerEvent => ({ kind: 'changed', head });
export const closes = (connection: number): FollowServerEvent => ({
  kind: 'closed',
  connection,
  head: HEAD,
});

export const open = (
  records: Readonly<Record<string, ClientRecord>> = {},
  connections: ReadonlyMap<number, FollowerConnection> = new Map(),
  head = HEAD,
) => openFollowServer({ version: 3, head, records: new Map(Object.entries(records)), connections });

export function served(state: FollowServer, ...events: FollowServerEvent[]) {
  let effects: readonly FollowServerEffect[] = [];
  for (const event of events) ({ state, effects } = stepFollowServer(state, event));
  return { state, effects, kinds: effects.map(({ kind }) => kind) };
}
export const serving = (...events: FollowServerEvent[]) => served(open().state, ...events);

export const close = (connection: number, reason: string) => ({
  kind: 'close',
  connection,
  reason,
});
export const ended = (connection: number, client: string, last: number, told = 0) => ({
  ...{ kind: 'sendEnded', connection, client, told, last },
});
export const welcome = (connection: number, n = 0, mark: number | null = null) => ({
  kind: 'send',
  connection,
  message: { kind: 'welcome', protocol: 2, version: 3, received: { n, mark } },
});
export const cut = (
  connection: number,
  client: string,
  since: Position,
  to: Position,
  last = 0,
  told = 0,
) => ({ kind: 'sendCut', connection, since, parts: null, to, client, told, last });
export const recorded = (
  client: string,
  record: ClientRecord,
  outcome: FollowedOutcome | null = null,
) => ({ kind: 'record', client, record, outcome });
/** Returns the calls that these effects begin, as client and number: `A1`. */
export const begun = (effects: readonly FollowServerEffect[]) =>
  effects.flatMap((effect) => (effect.kind === 'run' ? [`${effect.client}${effect.call.n}`] : []));
