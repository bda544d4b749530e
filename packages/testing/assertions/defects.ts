// Defects that an assertion must meet first, each as exact edits of the sources, with the message that is seen then.

import type { Edit } from '../engine/put-back/defect.ts';
import type { ScenarioName } from './scenarios.ts';

export interface AssertedDefect {
  readonly name: string;
  /** Its code runs into the defect. */
  readonly scenario: ScenarioName;
  /** Part of the assertion's message. */
  readonly message: string;
  readonly edit: Edit;
}

/** The first one of each room. */
export const FIRST_OF_ROOMS: readonly AssertedDefect[] = [
  {
    name: 'a critical section ends although one inside of it is open',
    scenario: 'nested sections',
    message: 'a section ended before one inside of it',
    edit: {
      file: 'worker/objects/io/input-gate.ts',
      from: '    this.resume(section, () => {',
      to: '    this.#run(() => {',
    },
  },
  {
    name: 'a candidate opens its host before it holds the lock',
    scenario: 'a tab',
    message: 'a host was opened out of turn',
    edit: {
      file: 'worker/start/boot/candidacy.ts',
      from: "state.place.takeover, { kind: 'queue' }, who);",
      to: "state.place.takeover, { kind: 'queue' }, { kind: 'open' }, who);",
    },
  },
  {
    name: 'a page that is connected searches for a leader',
    scenario: 'three tabs',
    message: 'a page has two connections',
    edit: {
      file: 'src/page/leader/tab-steps.ts',
      from: "if (this.state.phase.kind !== 'ready' || isConnected(this.state)) return;",
      to: "if (this.state.phase.kind !== 'ready') return;",
    },
  },
  {
    name: 'an attempt to connect goes on after it was replaced',
    scenario: 'a link',
    message: 'a replica has two connections',
    edit: {
      file: 'packages/follow/copy/link.ts',
      from: 'if (this.#isStopped || attempt !== this.#attempts) return',
      to: 'if (this.#isStopped) return',
    },
  },
];

export const OTHER_DEFECTS: readonly AssertedDefect[] = [
  {
    name: 'an event runs inside of another one',
    scenario: 'an event in an event',
    message: 'a task ran inside of another',
    edit: {
      file: 'worker/objects/io/input-gate.ts',
      from: 'if (!this.#turnIsTaken && this.#admitsNow(section)) this.#run(event);',
      to: 'if (this.#admitsNow(section)) this.#run(event);',
    },
  },
  {
    name: 'an instance that ends leaves its eviction timer',
    scenario: 'a reset',
    message: 'an eviction timer outlived its instance',
    edit: { file: 'worker/objects/io/lifecycle.ts', from: '    this.#cancelTimer?.();\n', to: '' },
  },
  {
    name: 'an alarm that was deleted leaves its timer',
    scenario: 'a deleted alarm',
    message: 'an alarm ran that did not wait',
    edit: {
      file: 'worker/objects/alarms/alarm-scheduler.ts',
      from: '    state?.cancel();\n    this.#alarms.delete(name);',
      to: '    this.#alarms.delete(name);',
    },
  },
  {
    name: 'a timer that starts when time is stopped waits once more each time',
    scenario: 'a stopped clock',
    message: 'a timer waits twice',
    edit: {
      file: 'worker/objects/clock/clock.ts',
      from: '    this.#starting.clear();\n',
      to: '',
    },
  },
  {
    name: 'a batch that has begun is run again by the next instance',
    scenario: 'a batch and a reset',
    message: 'a batch ran twice',
    edit: {
      file: 'worker/objects/sessions/page-sessions.ts',
      from: 'if (hasBegun || !isStorageError(error)) return false;',
      to: 'if (!isStorageError(error)) return false;',
    },
  },
  {
    name: 'a session that is closed again ends its use of a branch again',
    scenario: 'a session on a branch',
    message: 'a use of a branch ended twice',
    edit: {
      file: 'worker/objects/sessions/page-sessions.ts',
      from: '    this.#holds.delete(id);\n',
      to: '',
    },
  },
  {
    name: 'a leader that steps down releases the lock at once',
    scenario: 'a newer tab',
    message: 'the lock was released before its host closed',
    edit: {
      file: 'worker/start/boot/candidacy.ts',
      from: "    { kind: 'yield', fact },",
      to: "    { kind: 'yield', fact },\n    { kind: 'release' },",
    },
  },
  {
    name: 'a second handle begins a second search',
    scenario: 'two handles',
    message: 'a page has two searches',
    edit: {
      file: 'src/page/leader/tab-steps.ts',
      from: "if (this.state.phase.kind !== 'ready' || isConnected(this.state)) return;",
      to: 'if (isConnected(this.state)) return;',
    },
  },
  {
    name: 'the transactions of a handle run side by side',
    scenario: 'two transactions',
    message: 'a handle has two transactions',
    edit: {
      file: 'src/page/storage/remote-transaction.ts',
      from: 'const started = this.#last.then(() => {',
      to: 'const started = Promise.resolve().then(() => {',
    },
  },
  {
    name: 'notes are deleted that a follower needs',
    scenario: 'captured changes',
    message: 'the notes of these changes were deleted',
    edit: {
      file: 'packages/follow/capture/capture.ts',
      from: 'const first = Math.min(oldest() - 1, last - Math.floor(notesMax / 2));',
      to: 'const first = last - Math.floor(notesMax / 2);',
    },
  },
  {
    name: 'a changed row is sent with the key of its note',
    scenario: 'captured changes',
    message: 'a row has not one value for each column',
    edit: {
      file: 'packages/follow/capture/read-changes.ts',
      from: 'else rows.push(cells.slice(notes.length));',
      to: 'else rows.push(cells);',
    },
  },
];
