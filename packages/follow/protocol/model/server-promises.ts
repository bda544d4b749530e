// Checks what the server promises with a hostile follower connected: the numbers, marks and outcomes of the devices are
// their own, their calls run in order, and everything that a follower could fill is bounded.
//
// Invariant: the bounds are those of the rules (docs/spec.md, FOLW18 and FOLS24), not those of the code.
//
// This file does not know how a state was reached.

import { unreadBytes } from '../unread.ts';
import { Broken, queueOf } from './device.ts';
import { hostileEndOf } from './hostile.ts';
import { CALL_BYTES, CONTENT_BYTES, isHostileClient } from './hostile-names.ts';
import type { Scenario } from './scenario.ts';
import { CLIENTS, type ClientIndex, type World } from './world.ts';

/**
 * The most bytes that may wait: 64 calls whose arguments have 2 MiB in total, and 4 KiB of each call for the rest of
 * its message.
 */
const WAITING_BYTES_MAX = 2 * 2 ** 20 + 64 * 4096;
const WAITING_COUNT_MAX = 64;
/** The most bytes of unacknowledged outcomes: a call that has begun below the limit adds its outcome. */
const OUTCOME_BYTES_MAX = 2 ** 20 + CONTENT_BYTES;

/** Checks the server's promises in a world with a hostile follower. @throws Broken if one does not hold */
export function checkServer(world: World, scenario: Scenario): void {
  checkBounds(world);
  checkClient(world, 0, scenario);
  checkClient(world, 1, scenario);
}

function checkBounds({ cloud, hostile }: World): void {
  const { core, storage } = cloud;
  let allUnread = 0;
  for (const [number, { unread }] of core.connections) {
    allUnread += unreadBytes(unread);
    const end = hostileEndOf(hostile, number);
    if (end !== null && unreadBytes(unread) < end.unread.length * CONTENT_BYTES) {
      const counted = `the server counts ${unreadBytes(unread)} unread bytes`;
      throw new Broken(`${counted} of the hostile follower, which has not read more`);
    }
  }
  if (allUnread !== core.unreadBytes) throw new Broken('the unread bytes of all are not their sum');
  let allWaiting = 0;
  for (const [client, { waiting }] of core.clients) {
    allWaiting += waiting.reduce((sum, { bytes }) => sum + bytes, 0);
    const bytes = isHostileClient(client) ? waiting.length * CALL_BYTES : 0;
    if (waiting.length > WAITING_COUNT_MAX || bytes > WAITING_BYTES_MAX) {
      throw new Broken(`${waiting.length} calls of the hostile follower wait, ${bytes} bytes`);
    }
  }
  if (allWaiting !== core.waitingBytes)
    throw new Broken('the waiting bytes of all are not their sum');
  for (const [client, { outcomes }] of storage.clients) {
    const bytes = outcomes.length * CONTENT_BYTES;
    if (isHostileClient(client) && bytes > OUTCOME_BYTES_MAX) {
      throw new Broken(
        `${outcomes.length} outcomes of the hostile follower are kept, ${bytes} bytes`,
      );
    }
  }
}

/** Checks that a device's record is what the device itself has caused, and that its calls ran in order. */
function checkClient({ devices, cloud, ghost }: World, index: ClientIndex, scenario: Scenario) {
  const { storage } = cloud;
  const name = CLIENTS[index];
  const known = storage.clients.get(name);
  if (known === undefined) return;
  const { record, outcomes } = known;
  const { issued, calls } = queueOf(devices[index]);
  const recorded = calls[0] === undefined ? issued : calls[0].n - 1;
  if (record.acked > recorded) {
    throw new Broken(
      `the server forgets the outcomes of ${name} up to ${record.acked}, of which it has recorded ${recorded}`,
    );
  }
  if (record.started > issued) {
    throw new Broken(`the server has call ${record.started} of ${name}, which has made ${issued}`);
  }
  const script = scenario.script[index];
  const markOf = (n: number) => Number(script[n - 1]?.tag.slice(1) ?? Number.NaN);
  const isMarkKnown =
    record.mark !== null || (record.started > 0 && ghost.notesBeforeRestore.length === 0);
  if (record.started > 0 && isMarkKnown && record.mark !== markOf(record.started)) {
    throw new Broken(`the server has mark ${record.mark} for call ${record.started} of ${name}`);
  }
  for (const [n, outcome] of outcomes) {
    const { tag } = script[n - 1]!;
    if (outcome.kind === 'value' && outcome.value !== tag) {
      throw new Broken(`the outcome of ${tag} is that of ${String(outcome.value)}`);
    }
  }
  if (outcomes.length !== record.last - record.acked) {
    throw new Broken(
      `the server has ${outcomes.length} outcomes of ${name}, not all since ${record.acked}`,
    );
  }
  const own = storage.notes
    .map((note) => note.split('@')[0]!)
    .filter((tag) => tag.startsWith(name));
  const order = own.map((tag) => script.findIndex((call) => call.tag === tag.replace('-', '')));
  if (order.some((at, i) => i > 0 && at < order[i - 1]!)) {
    throw new Broken(`the calls of ${name} ran in the order ${own}`);
  }
}
