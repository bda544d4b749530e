// Handles one task of the model: a transition of a core, and its effects on the world.
//
// Invariant: effects that reach another thread, or a lock, are noted in `reaches`: a task without any can be handled at
// once, because it makes no difference to others when it is.

import { type TabEffect, type TabEvent, withoutConnection } from '../../../src/page/leader/tab.ts';
import { stepTab } from '../../../src/page/leader/tab-steps.ts';
import type { ControlMessage, WorkerMessage } from '../../../src/shared/wire/control.ts';
import {
  type CandidacyEffect,
  type CandidacyEvent,
  stepCandidacy,
} from '../../../worker/start/boot/candidacy.ts';
import type { Defects } from './defects.ts';
import { isIgnoredByPage, isIgnoredByWorker, isRepeated, senderOf } from './ignored.ts';
import {
  Broken,
  deploymentOf,
  ERROR,
  foundLeader,
  lineOf,
  MEDIUM,
  type ModelPage,
  type ModelTab,
  type ModelWorker,
  nameOf,
  newPage,
  newWorker,
  orderOf,
  type PageTask,
  type Rest,
  type Shared,
  TAB_INDEXES,
  type TabIndex,
  tabOf,
  type WorkerTask,
  type World,
  workersIn,
} from './world.ts';

/** A world that changes while one task is handled. */
export class Run {
  tabs: [ModelTab, ModelTab, ModelTab];
  shared: Shared;
  rest: Rest;
  /** The task has reached another thread or a lock, or has looked at one. */
  reaches = false;
  readonly #defects: Defects;

  constructor(world: World, defects: Defects) {
    this.tabs = [...world.tabs];
    this.shared = world.shared;
    this.rest = world.rest;
    this.#defects = defects;
  }

  get world(): World {
    return { tabs: this.tabs, shared: this.shared, rest: this.rest };
  }

  // Pages.

  openPage(tab: TabIndex): void {
    this.#setTab(tab, { page: newPage() });
    this.pageEvent(tab, { kind: 'wanted' });
  }

  handlePageTask(tab: TabIndex): void {
    const page = this.tabs[tab].page!;
    const [task, ...tasks] = page.tasks;
    this.#setPage(tab, { tasks });
    this.#pageTask(tab, task!);
  }

  #pageTask(tab: TabIndex, task: PageTask): void {
    const { core, term } = this.tabs[tab].page!;
    const sender = senderOf(task);
    // A worker that was abandoned is not heard any more.
    if (sender !== null && sender !== core.own?.id && sender !== core.before?.id) return;
    const isOf = (worker: string, ofTerm: number) =>
      core.link?.leader === worker && term === ofTerm && core.link.state !== 'failed';
    switch (task.kind) {
      case 'event':
        this.pageEvent(tab, task.event);
        return;
      case 'announced': {
        const leader = foundLeader(task.worker);
        this.pageEvent(tab, { kind: 'announced', leader, line: lineOf(task.build) });
        return;
      }
      case 'leads': {
        const { worker } = task;
        this.#setPage(tab, { offeredTerm: task.term });
        this.pageEvent(tab, { kind: 'leads', worker, medium: MEDIUM, refusal: null });
        return;
      }
      case 'accepted':
        this.#setPage(tab, { offeredTerm: task.term });
        this.pageEvent(tab, { kind: 'accepted', connection: task.connection });
        return;
      case 'yields':
        if (isOf(task.worker, task.term)) {
          this.pageEvent(tab, { kind: 'yields', link: core.link!.number });
        }
        return;
      case 'ended':
        if (isOf(task.worker, task.term)) this.#lose(tab);
        return;
      case 'released': {
        const { worker } = task;
        const isOwn = core.own?.id === worker || core.before?.id === worker;
        if (isOwn) this.pageEvent(tab, { kind: 'gone', worker, error: ERROR });
        else if (core.link?.leader === worker && core.link.state !== 'failed') this.#lose(tab);
      }
    }
  }

  /** The connection fails, and the page hears of it. */
  #lose(tab: TabIndex): void {
    const { core } = this.tabs[tab].page!;
    this.#setPage(tab, { core: withoutConnection(core) });
    this.#lost(tab, core.link!.number);
  }

  #lost(tab: TabIndex, link: number): void {
    const facts = { reason: ERROR, hasServed: true, isCleared: false };
    this.pageEvent(tab, { kind: 'lost', link, ...facts });
  }

  pageEvent(tab: TabIndex, given: TabEvent): void {
    const { tabEvent, tabEffects } = this.#defects;
    const before = this.tabs[tab].page!.core;
    const event = tabEvent === undefined ? given : tabEvent(given, before);
    if (event === null) return;
    const { state, effects } = stepTab(before, event);
    this.#setPage(tab, { core: state });
    const performed = tabEffects === undefined ? effects : tabEffects(effects, event, before);
    let lost: number | null = null;
    const next: TabEvent[] = [];
    for (const effect of performed) {
      if (effect.kind === 'leaveLink' || effect.kind === 'failLink') {
        if (before.link !== null && before.link.state !== 'failed') lost = before.link.number;
      } else {
        const result = this.#performPage(tab, effect);
        if (result !== null) next.push(result);
      }
    }
    for (const event of next) this.pageEvent(tab, event);
    // The users of the connection learn of the loss in the same task.
    if (lost !== null) this.#lost(tab, lost);
  }

  /** An event that follows at once, or null. */
  #performPage(tab: TabIndex, effect: TabEffect): TabEvent | null {
    switch (effect.kind) {
      case 'enter':
        this.#toPage(tab, { kind: 'event', event: { kind: 'entered' } });
        return null;
      case 'stand':
        this.#setPage(tab, { standing: effect.as });
        return null;
      case 'settleSuccession':
        this.#setPage(tab, { isSucceeding: false });
        return null;
      case 'spawn':
        return { kind: 'spawned', worker: this.#spawn(tab) };
      case 'start': {
        const own = this.tabs[tab].page!.core.own!.id;
        this.#toWorker(own, { kind: 'event', event: { kind: 'started' } });
        return null;
      }
      case 'abandon':
      case 'terminate':
        this.endWorker(effect.worker, effect.kind === 'terminate');
        return null;
      case 'tell':
        this.#tell(tab, effect.message);
        return null;
      case 'ask': {
        const { worker, connection } = effect;
        this.#toWorker(worker, { kind: 'connect', tab, connection });
        return null;
      }
      case 'connect':
        this.#checkConnection(tab, effect.leader);
        this.#setPage(tab, { term: this.tabs[tab].page!.offeredTerm });
        this.#watchLeader(tab, effect.leader);
        return null;
      case 'after':
        this.#setTimer(tab, effect.timer, effect.event);
        return null;
      case 'limitSearch': {
        const event = { kind: 'searchOver', search: effect.search, error: ERROR } as const;
        this.#setTimer(tab, 'search', event);
        return null;
      }
      case 'cancel':
        this.#setTimer(tab, effect.timer, null);
        return null;
      case 'stopSearch':
        this.#setTimer(tab, 'search', null);
        return null;
      case 'place':
        this.leavePlaces(tab);
        if (effect.line !== null) this.#takePlace(tab, effect.line);
        return null;
      default:
        return null;
    }
  }

  #setTimer(tab: TabIndex, timer: ModelPage['timers'][number]['timer'], event: TabEvent | null) {
    const { timers } = this.tabs[tab].page!;
    const others = timers.filter((each) => timer === null || each.timer !== timer);
    this.#setPage(tab, { timers: event === null ? others : [...others, { timer, event }] });
  }

  fireTimer(tab: TabIndex, number: number): void {
    const { timers } = this.tabs[tab].page!;
    const { event } = timers[number]!;
    this.#setPage(tab, { timers: timers.toSpliced(number, 1) });
    this.pageEvent(tab, event);
  }

  /** A page calls code that is older than its own only if its own worker cannot lead. */
  #checkConnection(tab: TabIndex, leader: string): void {
    const { nextBuild, page } = this.tabs[tab];
    const other = workersIn(this.world).find(({ id }) => id === leader);
    const isAble = !this.rest.unable.includes(tab) && page!.core.before?.id !== leader;
    if (isAble && other !== undefined && other.build < nextBuild) {
      throw new Broken(`the page ${nameOf(tab)} calls the older code of ${leader}`);
    }
  }

  #watchLeader(tab: TabIndex, leader: string): void {
    if (workersIn(this.world).some(({ id }) => id === leader)) return;
    this.#toPage(tab, { kind: 'released', worker: leader }); // The worker has ended already.
  }

  #spawn(tab: TabIndex): string {
    const { workers, workerCount, nextBuild } = this.tabs[tab];
    const id = `${nameOf(tab)}${workerCount + 1}`;
    const worker = newWorker(id, nextBuild);
    this.#setTab(tab, { workers: [...workers, worker], workerCount: workerCount + 1 });
    return id;
  }

  // Workers.

  handleWorkerTask(id: string): void {
    const worker = this.#worker(id);
    const task = worker.tasks[0]!;
    this.#setWorker(id, { tasks: worker.tasks.slice(1) });
    switch (task.kind) {
      case 'event':
        this.workerEvent(id, task.event);
        return;
      case 'list': {
        this.reaches = true;
        const living = workersIn(this.world)
          .filter(({ isShown }) => isShown)
          .map(({ id, build }) => ({ worker: id, deployment: deploymentOf(build) }));
        this.workerEvent(id, { kind: 'listed', question: task.question, living });
        return;
      }
      case 'closeHost':
        this.reaches = true;
        this.shared = { ...this.shared, host: null };
        for (const tab of worker.clients) {
          this.#toPage(tab, { kind: 'ended', worker: id, term: worker.term });
        }
        this.#setWorker(id, { clients: [] });
        this.workerEvent(id, { kind: 'yielded' });
        return;
      case 'connect': {
        if (worker.core.place.kind !== 'leading') return;
        const { tab, connection } = task;
        this.#setWorker(id, { clients: [...new Set([...worker.clients, tab])] });
        this.#toPage(tab, { kind: 'accepted', connection, term: worker.term });
      }
    }
  }

  workerEvent(id: string, given: CandidacyEvent): void {
    const { candidacyEvent, candidacyEffects } = this.#defects;
    const { core } = this.#worker(id);
    const event = candidacyEvent === undefined ? given : candidacyEvent(given, core);
    const { state, effects } = stepCandidacy(core, event, orderOf);
    this.#setWorker(id, { core: state });
    const performed = candidacyEffects === undefined ? effects : candidacyEffects(effects, event);
    for (const effect of performed) this.#performWorker(id, effect);
  }

  #performWorker(id: string, effect: CandidacyEffect): void {
    const own = (event: CandidacyEvent) => this.#later(id, { kind: 'event', event });
    const tab = tabOf(id);
    switch (effect.kind) {
      case 'introduce':
        this.#setWorker(id, { isWatched: true });
        this.#toPage(tab, { kind: 'event', event: { kind: 'started', worker: id } });
        own({ kind: 'introduced', deployment: deploymentOf(this.#worker(id).build) });
        return;
      case 'confirm':
        this.#toPage(tab, { kind: 'event', event: { kind: 'started', worker: id } });
        return;
      case 'queue':
        this.#setWorker(id, { isShown: true });
        this.#setLine([...this.shared.leader, id], this.shared.isGranted);
        return;
      case 'release': {
        if (this.shared.host === id)
          throw new Broken(`${id} frees the lock while its host is open`);
        if (this.shared.leader[0] === id) this.#setLine(this.shared.leader.slice(1), false);
        return;
      }
      case 'hide':
        this.reaches = true;
        this.#setWorker(id, { isShown: false });
        return;
      case 'list':
        this.#setWorker(id, { isShown: true });
        this.#later(id, { kind: 'list', question: effect.question });
        return;
      case 'prepare':
        own({ kind: 'prepared', judgement: effect.judgement });
        return;
      case 'open':
        this.reaches = true;
        if (this.shared.host !== null) {
          throw new Broken(`${id} opens the files that ${this.shared.host} has open`);
        }
        this.shared = { ...this.shared, host: id };
        own({ kind: 'opened', medium: MEDIUM });
        return;
      case 'serve':
        this.#setWorker(id, { term: this.#worker(id).term + 1 });
        this.#offer(id);
        return;
      case 'connectOwnPage':
        this.#offer(id);
        return;
      case 'yield': {
        const { clients, term } = this.#worker(id);
        for (const client of clients) this.#toPage(client, { kind: 'yields', worker: id, term });
        this.#later(id, { kind: 'closeHost' });
        return;
      }
      case 'report':
        this.#toPage(tab, { kind: 'event', event: { kind: 'failed', worker: id, error: ERROR } });
        return;
      case 'post':
        this.#post(id, effect.message);
        return;
      case 'tell':
        this.#tell(id, effect.message);
        return;
      default:
        return;
    }
  }

  #offer(id: string): void {
    const { clients, term } = this.#worker(id);
    const tab = tabOf(id);
    this.#setWorker(id, { clients: [...new Set([...clients, tab])] });
    this.#toPage(tab, { kind: 'leads', worker: id, term });
  }

  #post(by: string, message: WorkerMessage): void {
    if (message.type !== 'heard') return;
    const { worker, order, own } = message;
    const leader = foundLeader(worker);
    const line = own === null ? null : lineOf(Number(own.build));
    const event = { kind: 'judged', by, leader, order, line } as const;
    this.#toPage(tabOf(by), { kind: 'event', event });
  }

  /** Ends a worker: the browser, or its page. `isReported`: its page watches the lock. */
  endWorker(id: string, isReported: boolean): void {
    const worker = workersIn(this.world).find((each) => each.id === id);
    if (worker === undefined) return;
    this.reaches = true;
    const tab = tabOf(id);
    this.#setTab(tab, { workers: this.tabs[tab].workers.filter((each) => each !== worker) });
    if (this.shared.host === id) this.shared = { ...this.shared, host: null };
    const { leader, isGranted } = this.shared;
    const isKept = isGranted && leader[0] !== id;
    if (leader.includes(id))
      this.#setLine(
        leader.filter((each) => each !== id),
        isKept,
      );
    for (const other of TAB_INDEXES) {
      const link = this.tabs[other].page?.core.link;
      const isOwn = other === tab && isReported && worker.isWatched;
      const isFollower = link?.leader === id && link.state !== 'failed' && other !== tab;
      if (isOwn || isFollower) this.#toPage(other, { kind: 'released', worker: id });
    }
  }

  closeTab(tab: TabIndex): void {
    this.leavePlaces(tab);
    this.#setTab(tab, { page: null });
    for (const { id } of this.tabs[tab].workers) this.endWorker(id, false);
  }

  setFrozen(tab: TabIndex, isFrozen: boolean): void {
    this.#setTab(tab, { isFrozen });
  }

  setScript(id: string, script: ModelWorker['script']): void {
    this.#setWorker(id, { script });
  }

  /** The page starts newer code in place of its worker. */
  succeed(tab: TabIndex): void {
    this.#setTab(tab, { nextBuild: this.tabs[tab].nextBuild + 2 });
    this.#setPage(tab, { isSucceeding: true });
    this.pageEvent(tab, { kind: 'succeeded' });
  }

  setUnable(tab: TabIndex): void {
    const unable = [...new Set([...this.rest.unable, tab])].sort();
    this.rest = { ...this.rest, unable };
  }

  setRefused(tab: TabIndex): void {
    this.setUnable(tab);
    const refused = [...new Set([...this.rest.refused, tab])].sort();
    this.rest = { ...this.rest, refused };
  }

  /** The page hears that the script is refused. */
  failLoad(id: string): void {
    this.endWorker(id, false);
    const event = { kind: 'gone', worker: id, error: ERROR } as const;
    this.#toPage(tabOf(id), { kind: 'event', event });
  }

  failOpen(id: string): void {
    const [, ...tasks] = this.#worker(id).tasks;
    this.#setWorker(id, { tasks });
    this.shared = { ...this.shared, host: null };
    this.workerEvent(id, { kind: 'notOpened', error: ERROR });
  }

  /** The page is told before it is frozen: it ends its worker if that leads others. */
  freeze(tab: TabIndex): void {
    const { own, link } = this.tabs[tab].page!.core;
    const worker = workersIn(this.world).find(({ id }) => id === own?.id && id === link?.leader);
    if (worker?.clients.some((client) => client !== tab)) {
      this.pageEvent(tab, { kind: 'restarted', reason: ERROR });
    }
    this.setFrozen(tab, true);
  }

  /** The page gives the connection up. */
  silent(tab: TabIndex, event: TabEvent & { kind: 'silent' }): void {
    this.pageEvent(tab, event);
    this.#lost(tab, event.link);
  }

  /** The next message is lost. */
  drop(to: TabIndex | string): PageTask | WorkerTask {
    if (typeof to === 'string') {
      const [task, ...tasks] = this.#worker(to).tasks;
      this.#setWorker(to, { tasks });
      return task!;
    }
    const [task, ...tasks] = this.tabs[to].page!.tasks;
    this.#setPage(to, { tasks });
    return task!;
  }

  /** The next message comes at some later time. */
  delay(to: TabIndex | string): void {
    const task = this.drop(to);
    this.rest = { ...this.rest, late: [...this.rest.late, { to, task }] };
  }

  // ---- State that the threads share.

  /** The first in the line holds the leader's lock. */
  #setLine(leader: readonly string[], isGranted: boolean): void {
    this.reaches = true;
    this.shared = { ...this.shared, leader, isGranted: leader.length > 0 };
    if (leader.length > 0 && !isGranted) {
      this.#later(leader[0]!, { kind: 'event', event: { kind: 'turn' } });
    }
  }

  #takePlace(tab: TabIndex, line: string): void {
    this.reaches = true;
    const places = [...(this.shared.reserve[line] ?? []), tab];
    this.shared = { ...this.shared, reserve: { ...this.shared.reserve, [line]: places } };
    if (places[0] === tab) this.#toPage(tab, { kind: 'event', event: { kind: 'first' } });
  }

  leavePlaces(tab: TabIndex): void {
    for (const [line, places] of Object.entries(this.shared.reserve)) {
      if (!places.includes(tab)) continue;
      this.reaches = true;
      const left = places.filter((each) => each !== tab);
      const { [line]: _, ...reserve } = this.shared.reserve;
      this.shared = {
        ...this.shared,
        reserve: left.length > 0 ? { ...reserve, [line]: left } : reserve,
      };
      const [first] = left;
      if (first !== undefined && first !== places[0]) {
        this.#toPage(first, { kind: 'event', event: { kind: 'first' } });
      }
    }
  }

  /** A message on the control channel; those that its receivers ignore in any state are left out. */
  #tell(from: TabIndex | string, message: ControlMessage): void {
    switch (message.type) {
      case 'who':
        for (const { id } of workersIn(this.world)) {
          if (id !== from) this.#toWorker(id, { kind: 'event', event: { kind: 'asked' } });
        }
        return;
      case 'leads': {
        const { worker, deployment } = message;
        const leader = { worker, deployment, medium: MEDIUM, version: 1, oldest: 1 };
        for (const { id } of workersIn(this.world)) {
          if (id !== worker)
            this.#toWorker(id, { kind: 'event', event: { kind: 'heard', leader } });
        }
        const build = Number(deployment.build);
        for (const tab of TAB_INDEXES) this.#toPage(tab, { kind: 'announced', worker, build });
        return;
      }
      case 'takeover':
        this.#toWorker(message.worker, {
          kind: 'event',
          event: { kind: 'takeover', by: message.by },
        });
        return;
      case 'silent':
        for (const tab of TAB_INDEXES) {
          const event = { kind: 'blamed', worker: message.worker } as const;
          if (tab !== from && tabOf(message.worker) === tab)
            this.#toPage(tab, { kind: 'event', event });
        }
    }
  }

  deliver(to: TabIndex | string, task: PageTask | WorkerTask): void {
    if (typeof to === 'number') this.#toPage(to, task as PageTask);
    else this.#toWorker(to, task as WorkerTask);
  }

  #toPage(tab: TabIndex, task: PageTask): void {
    const { page } = this.tabs[tab];
    if (page === null || isIgnoredByPage(page, task)) return;
    if (task.kind === 'announced' && isRepeated(page.tasks, task)) return;
    if (task.kind !== 'event' || task.event.kind !== 'entered') this.reaches = true;
    this.#setPage(tab, { tasks: [...page.tasks, task] });
  }

  #toWorker(id: string, task: WorkerTask): void {
    const worker = workersIn(this.world).find((each) => each.id === id);
    if (worker === undefined) return;
    this.reaches = true;
    if (isIgnoredByWorker(worker, task) || isRepeated(worker.tasks, task)) return;
    this.#setWorker(id, { tasks: [...worker.tasks, task] });
  }

  /** A task that the worker gives itself. */
  #later(id: string, task: WorkerTask): void {
    this.#setWorker(id, { tasks: [...this.#worker(id).tasks, task] });
  }

  #worker(id: string): ModelWorker {
    return this.tabs[tabOf(id)].workers.find((worker) => worker.id === id)!;
  }

  #setWorker(id: string, changed: Partial<ModelWorker>): void {
    const tab = tabOf(id);
    const workers = this.tabs[tab].workers.map((worker) =>
      worker.id === id ? { ...worker, ...changed } : worker,
    );
    this.#setTab(tab, { workers });
  }

  #setPage(tab: TabIndex, changed: Partial<ModelPage>): void {
    this.#setTab(tab, { page: { ...this.tabs[tab].page!, ...changed } });
  }

  #setTab(tab: TabIndex, changed: Partial<ModelTab>): void {
    this.tabs[tab] = { ...this.tabs[tab], ...changed };
  }
}
