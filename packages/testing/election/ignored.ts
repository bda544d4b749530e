// The tasks that change nothing for the thread that would handle them, whatever it handles before: they are left out, so that
// a walk has fewer states.

import type { CandidacyEvent } from '../../../worker/start/boot/candidacy.ts';
import type { ModelPage, ModelWorker, PageTask, WorkerTask } from './world.ts';

/** Returns the own worker that sent this task; null if another sender did. */
export function senderOf(task: PageTask): string | null {
  if (task.kind === 'leads') return task.worker;
  if (task.kind !== 'event') return null;
  const { event } = task;
  if (event.kind === 'judged') return event.by;
  return event.kind === 'started' || event.kind === 'failed' ? event.worker : null;
}

/** The receiver handles the same message just before: it changes nothing to hear it twice. */
export function isRepeated(tasks: readonly object[], task: PageTask | WorkerTask): boolean {
  const last = tasks.at(-1);
  return last !== undefined && JSON.stringify(last) === JSON.stringify(task);
}

/** The page has heard this before, whatever it handles until then. */
export function isIgnoredByPage({ core }: ModelPage, task: PageTask): boolean {
  if (task.kind !== 'event') return false;
  const { event } = task;
  // A frozen worker answers the question once it is thawed together with its page.
  if (event.kind === 'blamed') return true;
  if (event.kind !== 'started') return false;
  return [core.own, core.before].some((own) => own?.id === event.worker && own.hasStarted);
}

/** The worker can neither lead nor be introduced when it handles the task: tasks are handled in order. */
export function isIgnoredByWorker({ core, tasks }: ModelWorker, task: WorkerTask): boolean {
  const has = (kind: CandidacyEvent['kind']) =>
    tasks.some((each) => each.kind === 'event' && each.event.kind === kind);
  const isForLeader =
    task.kind === 'connect' ||
    (task.kind === 'event' && (task.event.kind === 'asked' || task.event.kind === 'takeover'));
  if (isForLeader) return core.place.kind !== 'leading' && !has('opened');
  if (task.kind === 'event' && task.event.kind === 'started') {
    // The page knows that it runs.
    const { kind } = core.place;
    return (kind === 'waiting' || kind === 'yielding') && !has('opened');
  }
  const isHeard = task.kind === 'event' && task.event.kind === 'heard';
  return isHeard && core.deployment === null && !has('introduced');
}
