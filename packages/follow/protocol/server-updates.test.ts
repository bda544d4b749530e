// The updates of many connections: one event brings changes to a few, and later events to the others.

import { expect, test } from 'vitest';
import { Random } from '../../testing/simulate/world/random.ts';
import { at, changes, ends, greets, HEAD, value } from '../testing/server-steps.ts';
import { openFollowServer, stepFollowServer, stepInPlace } from './server.ts';
import type { FollowServerEffect, FollowServerEvent } from './server-events.ts';
import type { OwnedFollowServer } from './server-state.ts';

const calls = (connection: number, n: number, head = HEAD): FollowServerEvent => ({
  ...{ kind: 'call', connection, bytes: 9, head },
  message: { kind: 'call', n, mark: n, method: 'm', args: null, again: false, ack: 0 },
});
/** A server with this many connections, from number 0 on, at one position. */
function serverWith(connections: number): OwnedFollowServer {
  let { state } = openFollowServer({
    ...{ version: 1, head: HEAD, records: new Map(), connections: new Map() },
  });
  for (let number = 0; number < connections; number++) {
    ({ state } = stepFollowServer(state, greets(number, `client-${number}`)));
  }
  return state;
}

const updatedBy = (effects: readonly FollowServerEffect[]) =>
  effects.flatMap((effect) => (effect.kind === 'sendCut' ? effect.connection : []));
const isMoreDue = (effects: readonly FollowServerEffect[]) =>
  effects.some(({ kind }) => kind === 'updateLater');

test('[FOLS26] the end of a call updates its own connection at once, and 100 others in four later events', () => {
  let { state } = stepFollowServer(serverWith(101), calls(70, 1));
  let step = stepFollowServer(state, ends('client-70', value(1), at(6)));
  expect(updatedBy(step.effects)).toEqual([70]);
  const updated: number[] = [];
  const sizes: number[] = [];
  while (isMoreDue(step.effects)) {
    ({ state } = step);
    step = stepFollowServer(state, changes(at(6)));
    sizes.push(updatedBy(step.effects).length);
    updated.push(...updatedBy(step.effects));
  }
  expect(sizes).toEqual([32, 32, 32, 4]);
  const others = Array.from({ length: 101 }, (_, number) => number).filter((n) => n !== 70);
  expect(updated.toSorted((a, b) => a - b)).toEqual(others);
});

test('[FOLS26] a call that pauses updates its own connection at once', () => {
  const { state } = stepFollowServer(serverWith(33), calls(32, 1));
  const { effects } = stepFollowServer(state, { kind: 'paused', client: 'client-32', head: at(6) });
  expect([updatedBy(effects), isMoreDue(effects)]).toEqual([[32], true]);
});

test('[FOLS26] while the object changes again and again, each of 100 connections has its turn', () => {
  let state = serverWith(100);
  const counts = new Map<number, number>();
  for (let id = 6; id < 31; id++) {
    const step = stepFollowServer(state, changes(at(id)));
    ({ state } = step);
    expect(updatedBy(step.effects)).toHaveLength(32);
    for (const number of updatedBy(step.effects)) counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  expect([counts.size, new Set(counts.values())]).toEqual([100, new Set([8])]);
});

test('[FOLS26] with 32 connections, one event updates all of them', () => {
  const { effects } = stepFollowServer(serverWith(32), changes(at(6)));
  expect([updatedBy(effects).length, isMoreDue(effects)]).toEqual([32, false]);
});

test('[FOLS26] a step in place has the same result as a step, which leaves its state as it was', () => {
  const random = new Random(1);
  let [state, owned] = [serverWith(50), serverWith(50)];
  const kinds = new Set<string>();
  const numbers = new Map<string, number>();
  for (let i = 0; i < 150; i++) {
    const connection = random.below(60);
    const client = `client-${connection}`;
    const known = state.clients.get(client);
    const isRunning = known?.run.kind === 'running';
    const n = (numbers.get(client) ?? 0) + 1;
    const head = at(6 + i);
    const isConnected = state.connections.has(connection);
    let event: FollowServerEvent;
    if (isRunning && random.onceIn(2)) event = ends(client, value(1), head);
    else if (!isConnected && known === undefined) {
      event = { ...greets(connection, client), head };
      numbers.delete(client);
    } else if (random.onceIn(9)) event = { kind: 'closed', connection, head };
    else if (isConnected && random.onceIn(2)) {
      event = calls(connection, n, head);
      numbers.set(client, n);
    } else event = changes(head);
    const before = structuredClone(state);
    const step = stepFollowServer(state, event);
    expect(state).toEqual(before);
    expect([...state.connections.keys()]).toEqual([...before.connections.keys()]);
    const inPlace = stepInPlace(owned, event);
    expect(inPlace.effects).toEqual(step.effects);
    expect([...inPlace.state.connections]).toEqual([...step.state.connections]);
    expect([...inPlace.state.clients]).toEqual([...step.state.clients]);
    expect(inPlace.state.connections).toBe(owned.connections);
    for (const { kind } of step.effects) kinds.add(kind);
    ({ state } = step);
    owned = inPlace.state;
  }
  expect([...kinds].toSorted()).toEqual(['record', 'run', 'send', 'sendCut', 'updateLater']);
});
