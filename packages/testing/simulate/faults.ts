// Injects the faults of a run into what surrounds its hosts: a reply, an alarm, a call on a file, a socket. Most faults
// wait for an occasion.
//
// A fault counts when it has happened, not when it was drawn.

import { socketParts } from '@ctx-storage/core/calls';
import type { Activity } from './activity.ts';
import type { ClientCalls } from './client-calls.ts';
import type { FaultName } from './plan.ts';
import type { ScriptLine } from './script.ts';
import type { HostOfRun } from './simulated-host.ts';
import type { World } from './world.ts';

const OPEN = 1;

type Surrounding =
  | 'powerLoss'
  | 'replyLost'
  | 'diskError'
  | 'diskFull'
  | 'alarmLate'
  | 'alarmTwice'
  | 'clockBack'
  | 'socketLost'
  | 'fetchFails';

export class FaultsOfRun {
  /** The waits of methods during which a host has ended. */
  readonly crashedAt = new Set<string>();
  /** The line of the script for the power loss that was drawn last. */
  powerLossLine: ScriptLine | undefined;
  readonly #world: World;
  readonly #activity: Activity;
  readonly #calls: ClientCalls;
  readonly #counts = new Map<FaultName, number>();
  #fetchFails: 'before' | 'after' | undefined;
  /** For each host's files, the number of failed calls that were counted already. */
  readonly #failedCalls = new WeakMap<object, number>();
  #clockBackMs = 0;
  #drawn: 'diskError' | 'diskFull' = 'diskError';

  constructor(world: World, activity: Activity, calls: ClientCalls) {
    this.#world = world;
    this.#activity = activity;
    this.#calls = calls;
  }

  /** How often each fault has happened. */
  get counts(): ReadonlyMap<FaultName, number> {
    const counts = new Map(this.#counts);
    const add = (name: FaultName, count: number) => {
      if (count > 0) counts.set(name, count);
    };
    add('replyLost', this.#calls.lostReplies);
    add('alarmLate', this.#activity.lateAlarms);
    add('alarmTwice', this.#activity.repeatedAlarms);
    return counts;
  }

  happened(name: FaultName): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    this.#world.note(`${name} happens`);
  }

  prepare(kind: Surrounding, line: ScriptLine, host: HostOfRun): void {
    const { random, time } = this.#world;
    switch (kind) {
      case 'powerLoss':
        this.powerLossLine = line;
        host.files.medium.powerOffAfter(random.below(12));
        line.text = 'power loss in one of the next commits';
        return;
      case 'replyLost':
        this.#calls.losesReply = true;
        line.text = 'the next reply is lost';
        return;
      case 'diskError':
      case 'diskFull': {
        this.#drawn = kind;
        const code = kind === 'diskError' ? 'IO' : 'DISK_FULL';
        for (const disk of host.files.medium.disks) disk.failAfter(random.below(10), code);
        line.text = `one of the next file calls fails: ${code}`;
        return;
      }
      case 'alarmLate':
        host.lateMs = random.pick([50, 1000, 30_000]);
        line.text = `the next alarm or timer is ${host.lateMs} ms late`;
        return;
      case 'alarmTwice':
        this.#activity.repeatsAlarm = true;
        line.text = 'the next alarm runs again';
        return;
      case 'clockBack': {
        const byMs = random.pick([1, 1000, 60_000, 3_600_000]);
        time.step(-byMs);
        this.#clockBackMs += byMs;
        this.happened(kind);
        line.text = `the wall clock is set back by ${byMs} ms`;
        return;
      }
      case 'socketLost': {
        const open = this.#calls.sockets
          .map((socket) => socketParts(socket)!.end)
          .filter(({ readyState }) => readyState === OPEN);
        if (open.length === 0) return;
        random.pick(open).break();
        this.happened(kind);
        line.text = 'a socket is lost';
        return;
      }
      case 'fetchFails':
        this.#fetchFails = random.pick(['before', 'after']);
        line.text = `the next request fails, ${this.#fetchFails} it arrives`;
        return;
    }
  }

  takeFetchFails(): 'before' | 'after' | undefined {
    const fails = this.#fetchFails;
    this.#fetchFails = undefined;
    if (fails !== undefined) this.happened('fetchFails');
    return fails;
  }

  countFailedCalls({ files: { medium } }: HostOfRun): void {
    const { failedCalls } = medium;
    if (failedCalls > (this.#failedCalls.get(medium) ?? 0)) this.happened(this.#drawn);
    this.#failedCalls.set(medium, failedCalls);
  }

  /** Ends the faults of files. Other faults that wait may still happen, once each. */
  heal(host: HostOfRun): void {
    this.countFailedCalls(host);
    host.files.medium.heal();
  }

  /** Cancels all faults that wait. */
  cancelWaiting(host: HostOfRun): void {
    host.lateMs = 0;
    this.#activity.repeatsAlarm = false;
    this.#calls.losesReply = false;
    this.#fetchFails = undefined;
  }

  /** Corrects the wall clock. */
  correctClock(): void {
    this.#world.time.step(this.#clockBackMs);
    this.#clockBackMs = 0;
  }
}
