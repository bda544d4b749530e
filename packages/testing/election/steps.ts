// The steps that a world can take: tasks that threads handle, timers, thaws, and faults.
//
// A timer runs only when no thread has anything else to do: the shortest is a second. A message that comes after a timer
// is a late one, which is a fault.

import type { Defects } from './defects.ts';
import { Run } from './run.ts';
import {
  ERROR,
  type FaultBudget,
  type ModelPage,
  nameOf,
  type PageTask,
  TAB_INDEXES,
  type TabIndex,
  tabOf,
  type WorkerTask,
  type World,
} from './world.ts';

export interface ModelStep {
  readonly name: string;
  /** `eager`: it makes no difference to others when it is taken. `fault`: it need not be taken. */
  readonly kind: 'eager' | 'normal' | 'fault';
  next(): World;
}

const NOT_STARTED = ' has not started';

/** If a task is eager, it is the only step. */
export function stepsOf(world: World, defects: Defects): ModelStep[] {
  const steps = new Steps(world, defects);
  return steps.all();
}

class Steps {
  readonly #world: World;
  readonly #defects: Defects;

  constructor(world: World, defects: Defects) {
    this.#world = world;
    this.#defects = defects;
  }

  all(): ModelStep[] {
    const tasks: ModelStep[] = [];
    for (const tab of TAB_INDEXES) {
      const { page, workers, isFrozen } = this.#world.tabs[tab];
      if (isFrozen || page === null) continue;
      if (page.tasks.length > 0) {
        const step = this.#task(`page ${nameOf(tab)}: ${textOf(page.tasks[0]!)}`, (run) =>
          run.handlePageTask(tab),
        );
        if (step.kind === 'eager') return [step];
        tasks.push(step);
      }
      for (const { id, tasks: own, script } of workers) {
        if (own.length === 0 || script !== 'runs') continue;
        const step = this.#task(`worker ${id}: ${textOf(own[0]!)}`, (run) =>
          run.handleWorkerTask(id),
        );
        if (step.kind === 'eager') return [step];
        tasks.push(step);
      }
    }
    if (tasks.length === 0) {
      const timers = this.#timers();
      const eager = timers.find(({ kind }) => kind === 'eager');
      if (eager !== undefined) return [eager];
      tasks.push(...timers);
    }
    return [...tasks, ...this.#late(), ...this.#faults()];
  }

  /** The task is handled now, to see what it reaches. */
  #task(name: string, handle: (run: Run) => void): ModelStep {
    const run = new Run(this.#world, this.#defects);
    let failure: unknown;
    try {
      handle(run);
    } catch (error) {
      failure = error;
    }
    const kind = run.reaches || failure !== undefined ? 'normal' : 'eager';
    const next = () => {
      if (failure !== undefined) throw failure;
      return run.world;
    };
    return { name, kind, next };
  }

  #step(kind: ModelStep['kind'], name: string, change: (run: Run) => void): ModelStep {
    const next = () => {
      const run = new Run(this.#world, this.#defects);
      change(run);
      return run.world;
    };
    return { name, kind, next };
  }

  #timers(): ModelStep[] {
    const steps: ModelStep[] = [];
    const isSomeFrozen = this.#world.tabs.some(({ isFrozen, page }) => isFrozen && page !== null);
    for (const tab of TAB_INDEXES) {
      const { page, isFrozen } = this.#world.tabs[tab];
      if (page === null) continue;
      const name = nameOf(tab);
      if (isFrozen) {
        steps.push(this.#step('normal', `thaw ${name}`, (run) => run.setFrozen(tab, false)));
        continue;
      }
      const waits = this.#waits(tab, page);
      // A worker has a second less than the search that has started it.
      const isStarting = waits.some(({ name }) => name.endsWith(NOT_STARTED));
      page.timers.forEach(({ timer, event }, number) => {
        if (isStarting && timer === 'search') return;
        const step = `timer ${name}: ${event.kind}`;
        steps.push(this.#task(step, (run) => run.fireTimer(tab, number)));
      });
      steps.push(...waits);
      const isLost = page.standing === 'lost' && page.core.phase.kind === 'ready';
      if (isLost && !isSomeFrozen) {
        steps.push(
          this.#step('normal', `call of ${name}`, (run) => run.pageEvent(tab, { kind: 'wanted' })),
        );
      }
    }
    return steps;
  }

  /**
   * Returns the steps in which a timer of the page runs out: for a worker that does not start, or a leader that is
   * silent.
   */
  #waits(tab: TabIndex, { core }: ModelPage): ModelStep[] {
    const steps: ModelStep[] = [];
    const { workers } = this.#world.tabs[tab];
    for (const own of [core.own, core.before]) {
      if (own === null || own.hasStarted) continue;
      const worker = workers.find(({ id }) => id === own.id);
      if (worker?.script === 'runs') continue;
      const event = { kind: 'gone', worker: own.id, error: ERROR } as const;
      steps.push(
        this.#step('normal', `${own.id}${NOT_STARTED}`, (run) => {
          run.endWorker(own.id, false);
          run.pageEvent(tab, event);
        }),
      );
    }
    const { link } = core;
    if (link !== null && link.state !== 'failed' && this.#world.tabs[tabOf(link.leader)].isFrozen) {
      const event = { kind: 'silent', link: link.number } as const;
      steps.push(
        this.#step('normal', `page ${nameOf(tab)}: ${link.leader} is silent`, (run) =>
          run.silent(tab, event),
        ),
      );
    }
    return steps;
  }

  #late(): ModelStep[] {
    const { late } = this.#world.rest;
    return late.map(({ to, task }, number) =>
      this.#step('normal', `late at ${to}: ${textOf(task)}`, (run) => {
        run.rest = { ...run.rest, late: late.toSpliced(number, 1) };
        run.deliver(to, task);
      }),
    );
  }

  #faults(): ModelStep[] {
    const steps: ModelStep[] = [];
    const { faults } = this.#world.rest;
    const living = TAB_INDEXES.filter((tab) => this.#world.tabs[tab].page !== null);
    const fault = (kind: keyof FaultBudget, name: string, change: (run: Run) => void) => {
      if (faults[kind] === 0) return;
      const left = { ...faults, [kind]: faults[kind] - 1 };
      steps.push(
        this.#step('fault', name, (run) => {
          run.rest = { ...run.rest, faults: left };
          change(run);
        }),
      );
    };
    for (const tab of living) {
      const { workers, isFrozen, page } = this.#world.tabs[tab];
      const name = nameOf(tab);
      if (living.length > 1) fault('kills', `close ${name}`, (run) => run.closeTab(tab));
      if (isFrozen) continue;
      fault('freezes', `freeze ${name}`, (run) => run.setFrozen(tab, true));
      fault('freezes', `freeze ${name}, which is told before`, (run) => run.freeze(tab));
      for (const { id, tasks, script, core } of workers) {
        if (script !== 'runs') continue;
        fault('terminations', `terminate ${id}`, (run) => {
          if (core.place.kind === 'new') run.setUnable(tab);
          run.endWorker(id, true);
        });
        if (core.place.kind === 'new') {
          fault('unloaded', `${id} never arrives`, (run) => {
            run.setUnable(tab);
            run.setScript(id, 'stuck');
          });
          fault('unloaded', `${id} cannot be loaded`, (run) => {
            run.setUnable(tab);
            run.failLoad(id);
          });
        }
        const [first] = tasks;
        if (first?.kind === 'event' && first.event.kind === 'opened') {
          fault('unopened', `${id} cannot open the files`, (run) => {
            run.setRefused(tab);
            run.failOpen(id);
          });
        }
        if (first !== undefined && isOnChannel(first)) {
          fault('lost', `${id} does not hear: ${textOf(first)}`, (run) => run.drop(id));
          fault('late', `${id} will hear late: ${textOf(first)}`, (run) => run.delay(id));
        }
      }
      const [first] = page!.tasks;
      if (first !== undefined && isOnChannel(first)) {
        fault('lost', `page ${name} does not hear: ${textOf(first)}`, (run) => run.drop(tab));
        fault('late', `page ${name} will hear late: ${textOf(first)}`, (run) => run.delay(tab));
      }
      if (!page!.isSucceeding && page!.core.link !== null) {
        fault('successions', `newer code for ${name}`, (run) => run.succeed(tab));
      }
    }
    return steps;
  }
}

/** True if the task travels between tabs, rather than between a page and its worker or within one thread. */
function isOnChannel(task: PageTask | WorkerTask): boolean {
  if (task.kind === 'announced' || task.kind === 'accepted' || task.kind === 'connect') return true;
  if (task.kind !== 'event') return false;
  const { kind } = task.event;
  return kind === 'heard' || kind === 'asked' || kind === 'takeover' || kind === 'blamed';
}

function textOf(task: PageTask | WorkerTask): string {
  if (task.kind === 'event') {
    const { event } = task;
    const about = 'leader' in event ? ` ${event.leader.worker}` : '';
    const order = 'order' in event ? ` ${event.order}` : '';
    return `${event.kind}${about}${order}`;
  }
  return 'worker' in task ? `${task.kind} ${task.worker}` : task.kind;
}
