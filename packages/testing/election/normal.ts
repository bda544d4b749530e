// Makes worlds equal that no later step can tell apart: numbers count from the present on, and names of workers that are
// forgotten everywhere are left out.
//
// Invariant: a world and its normal form take the same steps.

import type { Tab, TabEvent } from '../../../src/page/leader/tab.ts';
import type { Candidacy, CandidacyEvent, Question } from '../../../worker/start/boot/candidacy.ts';
import {
  type LateTask,
  type ModelPage,
  type ModelTab,
  type ModelTimer,
  type ModelWorker,
  TAB_INDEXES,
  type TabIndex,
  type WorkerTask,
  type World,
  workersIn,
} from './world.ts';

/** `isNormal`: the tab was part of a normal world. */
export function normal(world: World, isNormal: (tab: ModelTab) => boolean = () => false): World {
  const heard = namesHeard(world);
  const numbers = TAB_INDEXES.map((tab) => numbering(world, tab));
  const tabs = world.tabs.map((tab, index) => {
    if (isNormal(tab) && !tab.workers.some((worker) => refersToOthers(worker, heard))) return tab;
    const workers = tab.workers.map((worker) => normalWorker(worker, heard, numbers));
    const page = tab.page === null ? null : normalPage(tab.page, numbers[index]!);
    return { ...tab, page, workers };
  });
  const late = world.rest.late.map((task) => normalLate(task, numbers));
  return {
    tabs: tabs as unknown as readonly [ModelTab, ModelTab, ModelTab],
    shared: world.shared,
    rest: late.length === 0 ? world.rest : { ...world.rest, late },
  };
}

/** The normal form of the worker depends on other tabs. */
function refersToOthers({ core, tasks }: ModelWorker, heard: ReadonlySet<string>): boolean {
  const { stoodBackFor, steppedDownFor, askedBefore } = core;
  const isForgotten = (name: string) => !heard.has(name);
  return (
    tasks.some(({ kind }) => kind === 'connect') ||
    stoodBackFor.some(isForgotten) ||
    steppedDownFor.some(isForgotten) ||
    askedBefore.some(isForgotten)
  );
}

/** Workers that live, or are still heard of. */
function namesHeard(world: World): ReadonlySet<string> {
  const names = new Set(workersIn(world).map(({ id }) => id));
  const tasks = [
    ...workersIn(world).flatMap(({ tasks }) => tasks),
    ...world.rest.late.map(({ task }) => task),
  ];
  for (const task of tasks) {
    if (task.kind === 'list' && task.question.kind === 'judgement') {
      names.add(task.question.leader.worker);
    }
    if (task.kind !== 'event') continue;
    const { event } = task;
    if (event.kind === 'heard') names.add(event.leader.worker);
    if (event.kind === 'prepared') names.add(event.judgement.leader.worker);
  }
  return names;
}

type Numbering = (number: number) => number;

/** The numbers of searches and connections of a page that something still refers to, in their order. */
function numbering(world: World, tab: TabIndex): Numbering {
  const { page } = world.tabs[tab];
  const used = new Set<number>();
  if (page !== null) {
    const { phase, link } = page.core;
    if (link !== null) used.add(link.number);
    if (phase.kind === 'searching') {
      used.add(phase.search.number);
      if (phase.search.asked !== null) used.add(phase.search.asked.connection);
    }
  }
  const ranks = new Map(
    [...used].sort((one, other) => one - other).map((each, i) => [each, i + 1]),
  );
  // Numbers that nothing refers to any more all become 0, because no answer to them has an effect.
  return (number) => ranks.get(number) ?? 0;
}

function normalPage(page: ModelPage, rank: Numbering): ModelPage {
  const core = normalTab(page.core, rank);
  const timers = page.timers.flatMap(({ timer, event }) => {
    const renumbered = normalEvent(event, rank);
    if ('search' in renumbered && renumbered.search === 0) return [];
    if ('search' in renumbered && core.phase.kind !== 'searching') return [];
    return [{ timer, event: renumbered }];
  });
  const tasks = page.tasks.map((task) => {
    if (task.kind === 'accepted') return { ...task, connection: rank(task.connection) };
    return task;
  });
  return { ...page, core, timers: distinct(timers), tasks };
}

function distinct(timers: readonly ModelTimer[]): readonly ModelTimer[] {
  const texts = new Map(timers.map((timer) => [JSON.stringify(timer), timer]));
  return [...texts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, timer]) => timer);
}

function normalTab(core: Tab, rank: Numbering): Tab {
  const { phase, link, own, before } = core;
  const current = phase.kind === 'searching' ? phase.search.number : null;
  const worker = (each: Tab['own']) =>
    each === null || each.startedBy === null
      ? each
      : { ...each, startedBy: each.startedBy === current ? rank(current) : null };
  const asked = phase.kind === 'searching' ? phase.search.asked : null;
  return {
    ...core,
    own: worker(own),
    before: worker(before),
    link: link === null ? null : { ...link, number: rank(link.number) },
    phase:
      phase.kind === 'searching'
        ? {
            ...phase,
            search: {
              ...phase.search,
              number: rank(phase.search.number),
              asked: asked === null ? null : { ...asked, connection: rank(asked.connection) },
            },
          }
        : phase,
    lastNumber: 3,
  };
}

function normalEvent(event: TabEvent, rank: Numbering): TabEvent {
  return 'search' in event ? { ...event, search: rank(event.search) } : event;
}

function normalWorker(
  worker: ModelWorker,
  heard: ReadonlySet<string>,
  ranks: readonly Numbering[],
): ModelWorker {
  const { core, tasks } = worker;
  const known = (names: readonly string[]) => names.filter((name) => heard.has(name)).sort();
  const { heardCount } = core;
  const normalCore: Candidacy = {
    ...core,
    stoodBackFor: known(core.stoodBackFor),
    steppedDownFor: known(core.steppedDownFor),
    askedBefore: known(core.askedBefore),
    heardCount: 0,
  };
  return {
    ...worker,
    core: normalCore,
    tasks: tasks.map((task) => normalTask(task, heardCount, ranks)),
  };
}

function normalTask(task: WorkerTask, heardCount: number, ranks: readonly Numbering[]): WorkerTask {
  if (task.kind === 'connect') {
    return { ...task, connection: ranks[task.tab]!(task.connection) };
  }
  if (task.kind === 'list') return { ...task, question: sinceHeard(task.question, heardCount) };
  if (task.kind !== 'event') return task;
  const { event } = task;
  if (event.kind !== 'prepared') return task;
  const judgement = sinceHeard(event.judgement, heardCount);
  return { ...task, event: { ...event, judgement } as CandidacyEvent };
}

/** Replaces the count of an answer to an earlier announcement by -1: only that it is out of date matters. */
function sinceHeard<Asked extends Question>(question: Asked, heardCount: number): Asked {
  if (question.kind !== 'judgement') return question;
  return { ...question, count: question.count === heardCount ? 0 : -1 };
}

function normalLate(late: LateTask, ranks: readonly Numbering[]): LateTask {
  const { to, task } = late;
  if (task.kind === 'accepted') {
    return { to, task: { ...task, connection: ranks[to as TabIndex]!(task.connection) } };
  }
  if (task.kind === 'connect') {
    return { to, task: { ...task, connection: ranks[task.tab]!(task.connection) } };
  }
  return late;
}
