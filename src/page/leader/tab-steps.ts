// The transitions of a page's side of the election. They are pure: an event goes in, the next state and the effects
// come out.
//
// The page starts its own worker, which queues to lead, and asks the other workers which of them leads. Its own worker
// hears the answer too, and checks the leader: it may have to take over from a leader of an older deployment, whose
// code this page never calls. When the worker that leads dies or steps down, the connection fails; the page then
// searches for the worker that leads next, which may be the page's own. A page that follows its own deployment may end
// its worker meanwhile (reserve.ts).
//
// The caller performs the effects of an event in order, before the next event. A connection that has failed is marked
// in the state before the next event (`withoutConnection`).
//
// Invariants:
// there is one connection at a time, and one search at a time, which ends by itself;
// if no worker of a page leads, waits or loads, the page searches for a leader, follows one, or has reported why not.
// The first is asserted; the second is about what other threads do next, and the model walks it.
//
// Does not know locks, channels, workers, nor the time. packages/testing/election walks its states.

import { assert } from '../../shared/contract/invariant.ts';
import type { StorageMedium } from '../../shared/contract/medium.ts';
import type { ControlMessage } from '../../shared/wire/control.ts';
import { connectionClosed } from '../../shared/wire/errors-on-wire.ts';
import {
  CONNECT_WAIT_MS,
  LAST_ANSWERS_MS,
  OTHERS_WAIT_MS,
  REST_MS,
  RESTART_MS,
  SILENT_WAIT_MS,
  SUCCESSION_WAIT_MS,
  WAKE_MS,
} from './leader-search.ts';
import {
  type FoundLeader,
  isConnected,
  type Tab,
  type TabEffect,
  type TabEvent,
  type TabPhase,
  type TabSearch,
  type TabStep,
  type TabTimer,
  withoutConnection,
} from './tab.ts';

export function stepTab(state: Tab, event: TabEvent): TabStep {
  const turn = new Turn(state);
  turn.handle(event);
  return { state: turn.state, effects: turn.effects };
}

const READY: TabPhase = { kind: 'ready' };

/** Handles one event. Holds the state as it becomes, and the effects so far. */
class Turn {
  state: Tab;
  readonly effects: TabEffect[] = [];

  constructor(state: Tab) {
    this.state = state;
  }

  handle(event: TabEvent): void {
    const { phase, own, before, link, resting } = this.state;
    switch (event.kind) {
      case 'wanted':
        this.#want();
        return;
      case 'entered':
        if (phase.kind === 'entering') this.#search();
        return;
      case 'refused':
        if (phase.kind === 'entering') this.#endSearch(event.error);
        return;
      case 'spawned': {
        const startedBy = this.#current?.number ?? null;
        const { isSpawned } = this.state;
        this.#set({ own: { id: event.worker, isSpawned, hasStarted: false, startedBy } });
        this.#do({ kind: 'start' });
        return;
      }
      case 'notSpawned':
        if (!event.isFinal) this.#leaveToOthers(event.error, null);
        else if (this.#current !== null) this.#endSearch(event.error);
        return;
      case 'started':
        if (own?.id === event.worker) this.#set({ own: { ...own, hasStarted: true } });
        if (before?.id === event.worker) this.#set({ before: { ...before, hasStarted: true } });
        return;
      case 'leads':
        this.#leads(event);
        return;
      case 'judged':
        if (own?.id === event.by) this.#judged(event);
        return;
      case 'failed':
        this.#leavePlace();
        this.#leaveToOthers(event.error, event.worker);
        return;
      case 'gone':
        this.#gone(event);
        return;
      case 'announced':
        this.#announced(event);
        return;
      case 'accepted': {
        const asked = this.#current?.asked;
        if (asked?.connection === event.connection) this.#found(asked.worker, asked.medium, false);
        return;
      }
      case 'yields': {
        if (link?.number !== event.link) return;
        if (link.state === 'open') this.#set({ link: { ...link, state: 'yielding' } });
        const reason = connectionClosed('the worker that leads hands over to another');
        this.#do({ kind: 'stand', as: 'connecting', reason });
        this.#seek();
        return;
      }
      case 'silent':
        if (link?.number !== event.link) return;
        this.#set({ link: { ...link, state: 'failed', isSilent: true } });
        this.#blame(link.leader);
        this.#tell({ type: 'silent', worker: link.leader });
        return;
      case 'lost':
        this.#lost(event);
        return;
      case 'blamed':
        this.#blame(event.worker);
        return;
      case 'searchOver':
        if (this.#current?.number === event.search) this.#endSearch(event.error);
        return;
      case 'wakeDue':
        if (this.#current?.number === event.search) this.#wake();
        return;
      case 'restartDue':
        if (own === null && isConnected(this.state) && !resting.isResting) this.#start();
        return;
      case 'restDue':
        this.#rest();
        return;
      case 'first':
        if (resting.place === null) return;
        this.#set({ resting: { ...resting, place: 'first' } });
        this.#wake();
        return;
      case 'exchanged':
        this.#replaceReserve();
        this.#abandonOwn();
        this.#set({ isSpawned: event.isSpawned });
        // Another tab's worker leads, so the new worker waits for its turn.
        if (isConnected(this.state)) this.#start();
        return;
      case 'succeeded':
        this.#succeed();
        return;
      case 'successionLate':
        if (before !== null) this.#do({ kind: 'terminate', worker: before.id });
        return;
      case 'beforeDone':
        if (this.state.succession === null) this.#abandonBefore();
        return;
      case 'restarted':
        if (own === null) return;
        this.#do({ kind: 'terminate', worker: own.id });
        // Fail the connection at once, so that calls from now on reach the next worker.
        if (own.id === link?.leader) this.#failLink(event.reason);
        return;
      case 'closed':
        this.#close(event.error);
        return;
    }
  }

  /** The search under way, once it has begun. */
  get #current(): TabSearch | null {
    const { phase } = this.state;
    return phase.kind === 'searching' ? phase.search : null;
  }

  #want(): void {
    if (this.state.phase.kind !== 'ready' || isConnected(this.state)) return;
    this.#set({ phase: { kind: 'entering' } });
    this.#do({ kind: 'search' }, { kind: 'stand', as: 'connecting' }, { kind: 'enter' });
  }

  /**
   * Searches for the next leader although no call waits, so that users of the page learn of that leader, and the
   * objects' alarms run.
   */
  #seek(): void {
    if (this.state.link !== null) this.#want();
  }

  #search(): void {
    const number = this.#nextNumber();
    const waitMs = this.state.link?.isSilent ? SILENT_WAIT_MS : CONNECT_WAIT_MS;
    this.#set({ phase: { kind: 'searching', search: { number, asked: null, isAlone: false } } });
    this.#do({ kind: 'limitSearch', search: number, waitMs });
    if (this.state.resting.isResting) {
      this.#after(WAKE_MS, { kind: 'wakeDue', search: number });
    } else {
      this.#start();
    }
    this.#tell({ type: 'who' });
  }

  #setSearch(changed: Partial<TabSearch>): void {
    const search = this.#current;
    if (search !== null)
      this.#set({ phase: { kind: 'searching', search: { ...search, ...changed } } });
  }

  #endSearch(error: Error): void {
    this.#set({ phase: READY });
    this.#do({ kind: 'stopSearch' });
    this.#settleSuccession(error);
    this.#do({ kind: 'stand', as: 'lost', reason: error }, { kind: 'searched', error });
  }

  #start(): void {
    this.#do({ kind: this.state.own === null ? 'spawn' : 'start' });
  }

  #leads({ worker, medium, refusal }: TabEvent & { kind: 'leads' }): void {
    this.#leavePlace();
    this.#supersede(worker);
    if (refusal === null && this.#current !== null) {
      this.#found(worker, medium, true);
      return;
    }
    this.#do({ kind: 'decline' });
    if (refusal !== null && this.#current !== null) this.#endSearch(refusal);
    else this.#seek();
  }

  #judged({ leader, order, line }: TabEvent & { kind: 'judged' }): void {
    this.#set({ resting: { ...this.state.resting, line } });
    if (line === null) this.#leavePlace();
    if (order === 'newer') this.#do({ kind: 'outdate' });
    // If the leader is of an older deployment, the page's own worker takes over from it.
    if (order !== 'older') this.#follow(leader);
    const { link, before } = this.state;
    // Continue only if the page follows this leader already: then its own worker was started later.
    if (link?.leader !== leader.worker || !isConnected(this.state)) return;
    // The page's next worker waits in line behind this leader, so the succession has succeeded.
    if (order !== 'older' && before?.id !== leader.worker) this.#settleSuccession(null);
    this.#enterReserve();
  }

  /**
   * Called when another tab's worker announces that it leads. The page's own worker hears this too, and checks for this
   * page whether it can use that leader. A worker that cannot be started checks nothing.
   */
  #announced({ leader, line }: TabEvent & { kind: 'announced' }): void {
    const { own, resting } = this.state;
    if (leader.worker === own?.id) return; // The own worker also offers a connection, which is faster.
    this.#supersede(leader.worker);
    this.#seek();
    const { isResting } = resting;
    if (isResting && (line === null || line !== resting.line)) {
      this.#wake(); // The own worker checks this leader.
      return;
    }
    if (isResting || this.#current?.isAlone) this.#follow(leader);
  }

  #follow({ worker, medium, version, refusal }: FoundLeader): void {
    this.#supersede(worker);
    this.#seek();
    const search = this.#current;
    if (search === null || search.asked?.worker === worker) return;
    if (refusal !== null) {
      this.#endSearch(refusal);
      return;
    }
    const connection = this.#nextNumber();
    this.#setSearch({ asked: { worker, connection, medium } });
    this.#do({ kind: 'ask', worker, connection, version });
  }

  #found(leader: string, medium: StorageMedium, isOffered: boolean): void {
    assert(!isConnected(this.state), 'a page has two connections');
    const number = this.#nextNumber();
    const isOwn = leader === this.state.own?.id;
    this.#set({ phase: READY, link: { number, leader, state: 'open', isSilent: false } });
    this.#do(
      { kind: 'connect', link: number, leader, isOffered },
      { kind: 'stopSearch' },
      { kind: 'stand', as: isOwn ? 'leading' : 'following', reason: null, medium },
    );
    if (leader !== this.state.before?.id) this.#settleSuccession(null);
    if (!isOwn) this.#enterReserve();
    this.#do({ kind: 'searched', error: null });
  }

  /**
   * Leaves the connection to the previous leader, because another worker leads. Normally, a worker that leads proves
   * that the one before it is dead. But the announcement may come from a worker that has died since, so the abandoned
   * worker is told to close this page's sessions. A leader that steps down has answered all calls before it does so;
   * but the answers come by another channel than the announcement, and may come later. They end with the message that
   * the connection is closed.
   */
  #supersede(worker: string): void {
    const { link } = this.state;
    if (link === null || link.leader === worker || link.state === 'failed') return;
    this.state = withoutConnection(this.state);
    this.#do({ kind: 'leaveLink', reason: connectionClosed('another worker leads now') });
  }

  #failLink(reason: Error): void {
    this.state = withoutConnection(this.state);
    this.#do({ kind: 'failLink', reason });
  }

  #gone({ worker, error }: TabEvent & { kind: 'gone' }): void {
    this.#leavePlace();
    const { own, before, link } = this.state;
    const gone = [own, before].find((each) => each?.id === worker);
    if (own?.id === worker) this.#set({ own: null });
    if (before?.id === worker) this.#set({ before: null });
    const isLed = link?.leader === worker;
    const wasSilent = isLed && link.isSilent;
    if (isLed) {
      this.#set({ link: { ...link, isSilent: false } });
      this.#failLink(error);
    }
    const search = this.#current;
    // A search needs another worker, unless the search itself started this worker, which then failed to start.
    const isSpawned = gone?.isSpawned === true;
    if (isSpawned && search !== null && (gone.hasStarted || search.number !== gone.startedBy)) {
      if (wasSilent)
        this.#do({ kind: 'limitSearch', search: search.number, waitMs: CONNECT_WAIT_MS });
      this.#start();
      this.#tell({ type: 'who' });
      return;
    }
    if (isLed) this.#seek();
    this.#leaveToOthers(error, worker);
    // While the page follows, no call asks for its own worker. The worker is started again to take over from an older
    // leader, or to lead next.
    if (isSpawned) this.#after(RESTART_MS, { kind: 'restartDue' });
  }

  /**
   * Called when the own worker cannot lead: another tab's worker may lead. A running worker still checks leaders for
   * the page.
   */
  #leaveToOthers(error: Error, worker: string | null): void {
    const { own } = this.state;
    if (worker === null || own === null || own.id === worker) this.#settleSuccession(error);
    const search = this.#current;
    if (search === null) return;
    this.#after(OTHERS_WAIT_MS, { kind: 'searchOver', search: search.number, error });
    if (this.state.own?.hasStarted) return;
    this.#setSearch({ isAlone: true });
    this.#tell({ type: 'who' });
  }

  /**
   * Called when a connection was lost: searches for the next leader. If the page's own worker never served on the
   * connection, no search begins, so that a worker that dies again and again is not started again and again.
   */
  #lost({ link: number, reason, hasServed, isCleared }: TabEvent & { kind: 'lost' }): void {
    if (isCleared) this.#clear(reason);
    const { phase, link, own, resting } = this.state;
    if (phase.kind === 'over' || link?.number !== number) return;
    this.state = withoutConnection(this.state);
    const isOwn = (own === null && !resting.isResting) || own?.id === link.leader;
    if (isOwn && !hasServed) {
      this.#do({ kind: 'stand', as: 'lost', reason });
      return;
    }
    this.#do({ kind: 'stand', as: 'connecting', reason });
    this.#seek();
  }

  /**
   * Called when another page reports that a worker does not answer. Only a worker that this page can start again is
   * ended, because a worker of the caller may have other work.
   */
  #blame(worker: string): void {
    const { own } = this.state;
    if (own?.id === worker && own.isSpawned) this.#do({ kind: 'askWhetherSilent' });
  }

  #enterReserve(): void {
    const { resting, isSpawned } = this.state;
    // A worker that the caller started cannot be started again.
    if (!isSpawned || resting.line === null) return;
    this.#after(REST_MS, { kind: 'restDue' }, 'rest');
    if (resting.place !== null) return;
    this.#set({ resting: { ...resting, place: 'waiting' } });
    this.#do({ kind: 'place', line: resting.line });
  }

  /** Ends the page's worker, which can be started again, while another leads. */
  #rest(): void {
    const { phase, own, link, resting, succession } = this.state;
    if (resting.place !== 'waiting' || resting.isResting) return;
    const isNeeded = phase.kind !== 'ready' || !isConnected(this.state) || succession !== null;
    if (isNeeded || own === null || own.id === link?.leader) return;
    this.#abandonOwn();
    this.#set({ resting: { ...resting, isResting: true } });
  }

  #wake(): void {
    const { resting } = this.state;
    if (!resting.isResting) return;
    this.#set({ resting: { ...resting, isResting: false } });
    this.#start();
  }

  /** Leaves the line of resting pages, because the page's worker leads, has failed, or is replaced. */
  #leavePlace(): void {
    const { resting } = this.state;
    this.#do({ kind: 'cancel', timer: 'rest' });
    if (resting.place === null) return;
    this.#set({ resting: { ...resting, place: null } });
    this.#do({ kind: 'place', line: null });
  }

  /** Called when the page's worker is replaced by another one, or by none. */
  #replaceReserve(): void {
    this.#leavePlace();
    this.#set({ resting: { ...this.state.resting, isResting: false } });
  }

  /**
   * Abandons the page's worker. If the app passed that worker, it may pass it again to another finder, which alone
   * receives its messages then.
   */
  #abandonOwn(): void {
    const { own } = this.state;
    if (own === null) return;
    this.#set({ own: null });
    this.#do({ kind: 'abandon', worker: own.id });
  }

  #succeed(): void {
    const { own, isSpawned } = this.state;
    this.#replaceReserve();
    this.#abandonBefore();
    const succession = { wasSpawned: isSpawned };
    this.#set({ before: own, own: null, isSpawned: true, succession });
    this.#after(SUCCESSION_WAIT_MS, { kind: 'successionLate' }, 'succession');
    this.#start();
    this.#want(); // If no connection is found, the succession fails.
  }

  #settleSuccession(error: Error | null): void {
    const { succession, before } = this.state;
    if (succession === null) return;
    this.#set({ succession: null });
    this.#do({ kind: 'cancel', timer: 'succession' });
    if (error === null) {
      this.#after(LAST_ANSWERS_MS, { kind: 'beforeDone' }, 'succession');
    } else {
      this.#abandonOwn();
      this.#set({ own: before, before: null, isSpawned: succession.wasSpawned });
    }
    this.#do({ kind: 'settleSuccession', error });
  }

  #abandonBefore(): void {
    const { before } = this.state;
    if (before === null) return;
    this.#set({ before: null });
    this.#do({ kind: 'abandon', worker: before.id });
  }

  /**
   * After site data is cleared, pages that were open do not share locks with later pages and workers (Chromium 156), so
   * this page can neither elect a leader with them nor watch one.
   */
  #clear(error: Error): void {
    if (this.state.phase.kind === 'over') return;
    this.#end(error, true);
    const { own, link } = this.state;
    this.#do({ kind: 'shut' });
    this.#replaceReserve();
    // A worker that led ends by itself, after it has informed every page.
    if (own !== null && own.id !== link?.leader) this.#do({ kind: 'terminate', worker: own.id });
  }

  #close(error: Error): void {
    if (this.state.phase.kind === 'over') return;
    this.#end(error, false);
    this.#do({ kind: 'leaveLink', reason: error });
    this.#settleSuccession(error);
    this.#do({ kind: 'shut' });
    this.#replaceReserve();
    this.#abandonOwn();
  }

  #end(error: Error, isCleared: boolean): void {
    const isSearching = this.state.phase.kind !== 'ready';
    this.#set({ phase: { kind: 'over', isCleared, error } });
    this.#do({ kind: 'stopSearch' });
    this.#do({ kind: 'stand', as: 'lost', reason: error });
    if (isSearching) this.#do({ kind: 'searched', error });
  }

  #after(delayMs: number, event: TabEvent, timer: TabTimer = null): void {
    this.#do({ kind: 'after', delayMs, timer, event });
  }

  #tell(message: ControlMessage): void {
    if (this.state.phase.kind !== 'over') this.#do({ kind: 'tell', message });
  }

  #nextNumber(): number {
    const lastNumber = this.state.lastNumber + 1;
    this.#set({ lastNumber });
    return lastNumber;
  }

  #set(changed: Partial<Tab>): void {
    this.state = { ...this.state, ...changed };
  }

  #do(...effects: TabEffect[]): void {
    this.effects.push(...effects);
  }
}
