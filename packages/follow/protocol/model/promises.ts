// Checks the promises of the protocol in a state of the model, and tells whether everything in it is settled.
//
// This file does not know how a state was reached.

import type { Cloud, Storage } from './cloud.ts';
import { Broken, baseOf, type Device, expectedForecast, queueOf, tagOf } from './device.ts';
import type { CallKind, Scenario } from './scenario.ts';
import type { World } from './world.ts';

/** The kinds of calls whose writes the server keeps. */
const KINDS_WITH_WRITES: readonly CallKind[] = ['write', 'thrown', 'slow', 'lingering', 'outside'];
/** The kinds of calls whose refusal the app must see. */
const REFUSED_KINDS: readonly CallKind[] = ['refused', 'thrown', 'fatal'];

/**
 * The pairs of a device and a server's storage that were already checked. While no restore has happened, a pair is
 * checked once.
 */
export type CheckedPairs = Map<Device, Set<Storage>>;

/** Checks all promises of the protocol in a world. @throws Broken if one does not hold */
export function checkPromises(
  { devices, cloud, ghost }: World,
  scenario: Scenario,
  checked: CheckedPairs,
): void {
  for (const device of devices) {
    let storages = checked.get(device);
    if (storages === undefined) {
      storages = new Set();
      checked.set(device, storages);
    }
    if (ghost.notesBeforeRestore.length === 0) {
      if (storages.has(cloud.storage)) continue;
      storages.add(cloud.storage);
    }
    checkBase(device, cloud, ghost.notesBeforeRestore);
    checkForecast(device);
    checkCalls(device, cloud, ghost.notesBeforeRestore, scenario);
  }
}

/** True if all calls are made and answered, both devices have the server's content, and no message is under way. */
export function isSettled({ devices, cloud, wires, late }: World, scenario: Scenario): boolean {
  const isQuiet =
    late === null &&
    wires.every(({ isCut, up, down }) => !isCut && up.length === 0 && down.length === 0) &&
    [...cloud.core.clients.values()].every(({ run }) => run.kind === 'idle');
  return isQuiet && devices.every((device) => isDeviceSettled(device, cloud, scenario));
}

function isDeviceSettled(device: Device, { storage }: Cloud, { calls }: Scenario): boolean {
  const { core, app } = device;
  const { link } = core;
  const isBehind = link.kind === 'stopped' && link.reason === 'QUEUE_BEHIND';
  if (isBehind && app.isTakenBack) return true;
  const ownCalls = calls.filter(({ by }) => by === core.client);
  return (
    app.made === ownCalls.length &&
    link.kind === 'current' &&
    queueOf(device).calls.length === 0 &&
    baseOf(device).rows.length === storage.notes.length &&
    device.forecast.length === storage.notes.length
  );
}

function checkBase(
  device: Device,
  { storage }: Cloud,
  notesBeforeRestore: readonly string[],
): void {
  const { rows, mark } = baseOf(device);
  const texts = rows.map(([, text]) => text);
  const isPrefix = (notes: readonly string[]) =>
    rows.every(([index, text], i) => index === i && notes[i] === text);
  if (!isPrefix(storage.notes) && !isPrefix(notesBeforeRestore)) {
    throw new Broken(
      `the base of ${clientOf(device)} (${texts}) is no prefix of (${storage.notes})`,
    );
  }
  if ((mark.position?.id ?? 0) !== rows.length) {
    throw new Broken(
      `the base of ${clientOf(device)} is not at storages position ${mark.position?.id}`,
    );
  }
}

function checkForecast(device: Device): void {
  const expected = expectedForecast(device);
  if (device.forecast.join() !== expected.join()) {
    throw new Broken(`${clientOf(device)} shows (${device.forecast}), not (${expected})`);
  }
  const tags = device.forecast.map(tagOfText);
  const duplicate = tags.find((tag, i) => tags.indexOf(tag) !== i);
  if (duplicate !== undefined) throw new Broken(`${clientOf(device)} shows ${duplicate} duplicate`);
}

/**
 * Checks that each acknowledged call waits in the queue, is in the base, or has a refusal that is stored until it is
 * dismissed.
 */
function checkCalls(
  device: Device,
  { storage }: Cloud,
  notesBeforeRestore: readonly string[],
  { calls }: Scenario,
): void {
  const { app } = device;
  const queue = queueOf(device);
  const queued = queue.calls.map(tagOf);
  const refused = queue.refusals.map(({ call }) => tagOf(call));
  if (refused.join() !== app.shown.map(({ tag }) => tag).join()) {
    throw new Broken(`${clientOf(device)} has refusals of ${refused}, and shows others`);
  }
  const tagsInBase = baseOf(device).rows.map(([, text]) => tagOfText(text));
  for (const tag of app.acknowledged) {
    const isRefused = refused.includes(tag);
    if (queued.includes(tag)) {
      if (isRefused) throw new Broken(`${tag} is pending and refused`);
      continue;
    }
    if (isRefused || app.dismissed.includes(tag)) continue;
    const { kind } = calls[Number(tag.slice(1)) - 1]!;
    if (REFUSED_KINDS.includes(kind)) throw new Broken(`the refusal of ${tag} is lost`);
    const note = kind === 'lingering' ? `${tag}-` : tag;
    const isLost =
      !tagsInBase.includes(note) && !isTakenBack(note, storage.notes, notesBeforeRestore);
    if (KINDS_WITH_WRITES.includes(kind) && isLost)
      throw new Broken(`the acknowledged ${tag} is lost`);
  }
}

/** True if a restore of the server has removed this call's note. */
function isTakenBack(
  tag: string,
  notes: readonly string[],
  notesBeforeRestore: readonly string[],
): boolean {
  const isIn = (history: readonly string[]) => history.some((note) => tagOfText(note) === tag);
  return isIn(notesBeforeRestore) && !isIn(notes);
}

/** Returns the tag of the call that wrote a note: `A1` for the note `A1@2`. */
function tagOfText(text: string): string {
  return text.split('@')[0]!;
}

function clientOf({ core }: Device): string {
  return core.client;
}
